"""The wall clock as the screens read it: one place, so that a picture can be drawn as of any moment."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def midnight() -> str:
    """The UTC time at which the developer's local day began, as stored."""
    local = now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return local.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_since(stamp: str) -> float:
    """Seconds since a stored UTC moment, never negative."""
    moment = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return max(0.0, (now() - moment).total_seconds())
