"""What each engine counts about one answer, in the same words. Pure: text and JSON in, counts out.

Two rates are kept apart. `verified` counts are the target's: drafts that reached verification, and how many it kept. `drafter`
counts are the draft's own: everything it drafted. An engine that has one of them only leaves the other None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from navigator.model import patterns


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters of one answer.

    Attributes:
        drafted, accepted: by the verifier.
        drafter_drafted, drafter_accepted: by the draft.
        rounds: verifying passes.
        positions: how often a draft was kept up to each position.
        draft_seconds: time spent drafting.
    """

    drafted: int | None = None
    accepted: int | None = None
    drafter_drafted: int | None = None
    drafter_accepted: int | None = None
    rounds: int | None = None
    positions: tuple[int, ...] = field(default=())
    draft_seconds: float | None = None


# llama.cpp

_STATISTICS = patterns.compile(
    r"statistics\s+(?P<type>\S+):\s*#calls\(b,g,a\)\s*=\s*\d+\s+(?P<calls>\d+)\s+(?P<rounds>\d+),\s*"
    r"#gen drafts\s*=\s*(?P<drafts>\d+),\s*#acc drafts\s*=\s*\d+,\s*#gen tokens\s*=\s*(?P<drafted>\d+),\s*"
    r"#acc tokens\s*=\s*(?P<accepted>\d+),(?:\s*#mean acc len\s*=\s*[\d.]+,)?"
    r"(?:\s*#acc rate/pos\s*=\s*\((?P<positions>[^)]*)\),)?"
    r"\s*dur\(b,g,a\)\s*=\s*(?P<begin>[\d.]+),\s*(?P<draft>[\d.]+),"
)


def llama_timings(timings: Mapping[str, Any]) -> Counts:
    """The server's counters in a response; both are absent where nothing was drafted."""
    return Counts(drafted=_whole(timings.get("draft_n")), accepted=_whole(timings.get("draft_n_accepted")))


def llama_statistics(log: str) -> Counts | None:
    """The draft's own counters: the last line of statistics in a log. They add up over the life of the server."""
    every = list(_STATISTICS.finditer(log))
    if not every:
        return None
    found = every[-1]
    rates = [float(word) for word in (found["positions"] or "").split(",") if word.strip()]
    drafts = int(found["drafts"])
    return Counts(
        drafter_drafted=int(found["drafted"]),
        drafter_accepted=int(found["accepted"]),
        rounds=int(found["rounds"]),
        positions=tuple(round(rate * drafts) for rate in rates),
        draft_seconds=float(found["draft"]) / 1000,
    )


# SGLang


def sglang_meta(meta: Mapping[str, Any]) -> Counts:
    """The counters in `meta_info` of an answer of /generate; names of two generations of SGLang.

    `spec_num_proposed_drafts` is rounds × (draft tokens − 1), so a draft that was cut short counts as whole.
    """
    histogram = meta.get("spec_correct_drafts_histogram") or meta.get("spec_accept_histogram")
    return Counts(
        drafted=_whole(meta.get("spec_num_proposed_drafts", meta.get("spec_draft_token_num"))),
        accepted=_whole(meta.get("spec_num_correct_drafts", meta.get("spec_accept_token_num"))),
        rounds=_whole(meta.get("spec_verify_ct")),
        positions=_positions(histogram) if isinstance(histogram, list) else (),
    )


def _positions(histogram: Sequence[int]) -> tuple[int, ...]:
    """From "rounds that kept exactly k drafts" to "rounds that kept at least k", for k from 1."""
    return tuple(sum(histogram[kept:]) for kept in range(1, len(histogram)))


# vLLM

_METRIC = patterns.compile(
    r"^vllm:spec_decode_(?P<name>num_drafts|num_draft_tokens|num_accepted_tokens|num_accepted_tokens_per_pos)_total"
    r"(?:\{(?P<labels>[^}]*)\})?\s+(?P<value>[\d.eE+]+)",
    patterns.MULTILINE,
)


def vllm_metrics(text: str) -> Counts:
    """The counters on /metrics, which add up over the life of the server and over its engines."""
    totals = {"num_drafts": 0.0, "num_draft_tokens": 0.0, "num_accepted_tokens": 0.0}
    positions: dict[int, float] = {}
    seen = False
    for found in _METRIC.finditer(text):
        seen = True
        value = float(found["value"])
        if found["name"] == "num_accepted_tokens_per_pos":
            position = patterns.search(r'position="(\d+)"', found["labels"] or "")
            if position is not None:
                positions[int(position[1])] = positions.get(int(position[1]), 0.0) + value
        else:
            totals[found["name"]] += value
    if not seen:
        return Counts()
    return Counts(
        drafted=int(totals["num_draft_tokens"]),
        accepted=int(totals["num_accepted_tokens"]),
        rounds=int(totals["num_drafts"]),
        positions=tuple(int(positions[place]) for place in sorted(positions)),
    )


def since(now: Counts, before: Counts | None) -> Counts:
    """What was added to counters that run for the whole life of a server."""
    if before is None:
        return now

    def less(one: int | None, other: int | None) -> int | None:
        return None if one is None else one - (other or 0)

    width = len(now.positions)
    earlier = (*before.positions, *[0] * width)[:width]
    return replace(
        now,
        drafted=less(now.drafted, before.drafted),
        accepted=less(now.accepted, before.accepted),
        drafter_drafted=less(now.drafter_drafted, before.drafter_drafted),
        drafter_accepted=less(now.drafter_accepted, before.drafter_accepted),
        rounds=less(now.rounds, before.rounds),
        positions=tuple(one - other for one, other in zip(now.positions, earlier, strict=True)),
        draft_seconds=(
            None if now.draft_seconds is None else now.draft_seconds - (before.draft_seconds or 0.0)
        ),
    )


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) else None
