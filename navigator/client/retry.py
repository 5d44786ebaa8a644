"""When a call is repeated, and how long to wait before it: exponential, jittered, obedient to Retry-After."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

BACKPRESSURE = frozenset({408, 429, 502, 503, 504})
"""HTTP statuses by which a server or a gateway in front of it asks for patience."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently.

    Attributes:
        retries: most repetitions after the first try.
        base: seconds of the first wait, doubled each time.
        cap: most seconds of a wait that we choose ourselves.
        longest: a Retry-After beyond this is not waited for: the call fails and says when to come back.
    """

    retries: int = 4
    base: float = 0.5
    cap: float = 15.0
    longest: float = 60.0
    rng: random.Random = field(default_factory=random.Random, compare=False, repr=False)

    def delay(self, attempt: int, retry_after: float | None) -> float | None:
        """Seconds before repetition number `attempt` (from 0); None when it should not be made.

        Our own wait is drawn from the upper half of its range ("equal jitter"), so that many requests refused
        at once do not come back at once. The server's word is a floor, jittered upwards.
        """
        if attempt >= self.retries:
            return None
        backoff = min(self.cap, self.base * 2.0**attempt)
        jittered = backoff / 2 + self.rng.uniform(0, backoff / 2)
        if retry_after is None:
            return jittered
        if retry_after > self.longest:
            return None
        return max(jittered, retry_after + self.rng.uniform(0, backoff / 4))


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds from a Retry-After header: a number, or an HTTP date (RFC 9110, section 10.2.3).

    Returns:
        At least 0; None where the header is absent or not to be understood.
    """
    if not value:
        return None
    text = value.strip()
    try:
        seconds = float(text)
    except ValueError:
        return _until(text, now or datetime.now(UTC))
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
