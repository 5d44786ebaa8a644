"""What nvidia-smi says about the cards."""

from __future__ import annotations

from dataclasses import dataclass

from navigator.model.text import safe_line
from navigator.swap.remote.machine import HERE, Machine

_SECONDS = 10.0
_FIELDS = "name,memory.total,memory.used,driver_version"


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU; memory in MiB as nvidia-smi counts it."""

    name: str
    total_mib: int
    used_mib: int
    driver: str


def cards(on: Machine = HERE) -> list[Card]:
    """The cards of a machine; [] without nvidia-smi, or when the driver does not answer."""
    done = on.run(["nvidia-smi", f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"], _SECONDS)
    return parse_cards(done.out.decode(errors="replace")) if done and done.code == 0 else []


def parse_cards(listing: str) -> list[Card]:
    """The cards of a listing, one a line; a line that does not fit is left out."""
    found = []
    for line in listing.splitlines():
        fields = [safe_line(part.strip()) for part in line.split(",")]
        if len(fields) != 4 or not fields[1].isdecimal():
            continue
        used = int(fields[2]) if fields[2].isdecimal() else 0
        found.append(Card(fields[0], int(fields[1]), used, fields[3]))
    return found
