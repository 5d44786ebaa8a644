"""Combinations of flags that are known to go wrong in a version of SGLang, without an error at the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from navigator.setup.sglang_flags import version_key

_CACHES = ("--mamba-radix-cache-strategy", "--mamba-scheduler-strategy")
"""The flag for the cache of recurrent states; the second is its name before 0.5.23."""

_NEXTN_SCHEMA_FIXED = "0.5.23"


@dataclass(frozen=True, slots=True)
class KnownFault:
    """One fault: where it is described, what happens, and what to do."""

    name: str
    what: str
    remedy: str


LAZY_BUFFER = KnownFault(
    "sglang#36537",
    "NEXTN on a hybrid model with extra_buffer: once the cache has been 60% full, drafts are rejected until a restart",
    "Use --mamba-radix-cache-strategy extra_buffer_lazy, or no speculation.",
)
NEXTN_SCHEMA = KnownFault(
    "sglang#28407",
    "NEXTN with a JSON schema, which reviews and scans are asked with: answers can break the schema",
    f"Install {_NEXTN_SCHEMA_FIXED} or newer, or use no speculation.",
)


def known_faults(version: str, flags: Mapping[str, str], *, hybrid: bool) -> list[KnownFault]:
    """The faults that a server of this version runs into with these flags.

    Args:
        version: of SGLang; "" where it is unknown.
        flags: name with its dashes → value.
        hybrid: the model has layers with linear attention.
    """
    if flags.get("--speculative-algorithm", "").upper() != "NEXTN":
        return []
    found = []
    cache = next((flags[name] for name in _CACHES if name in flags), "auto")
    # Which versions have it is not known: every one counts. By default a hybrid model gets extra_buffer with speculation.
    if hybrid and cache in ("auto", "extra_buffer"):
        found.append(LAZY_BUFFER)
    own = version_key(version)
    if own and own < version_key(_NEXTN_SCHEMA_FIXED):
        found.append(NEXTN_SCHEMA)
    return found
