"""Known holes in SGLang by version, for `navigator doctor`. Only those whose last affected version is known are listed.

Read in November 2026 from the advisories' texts; newer ones exist where this table is older than the server.
"""

from __future__ import annotations

from dataclasses import dataclass

from navigator.serving.setup.sglang_flags import version_key

READ = "November 2026"


@dataclass(frozen=True, slots=True)
class Advisory:
    """One hole. `last` is the newest version that has it; `without_keys` whether keys close it."""

    name: str
    last: str
    what: str
    without_keys: bool = False


ADVISORIES = (
    Advisory("CVE-2026-15969", "0.5.15", "code of others can be run on the server"),
    Advisory(
        "CVE-2026-86793", "0.5.18", "code can be run through /update_weights_from_tensor", without_keys=True
    ),
    Advisory("CVE-2026-93034", "0.5.20", "code of others can be run on the server"),
)


def advisories_for(version: str) -> list[Advisory]:
    """The holes that a version has; [] for one that is newer than all of them, or that cannot be read."""
    own = version_key(version)
    return [each for each in ADVISORIES if own and own <= version_key(each.last)]
