"""Times that no engine and no card can reach. Pure."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from navigator.lab.speculation import formulas, tables
from navigator.lab.speculation.checking.finding import Facts, Finding, label, name, percent
from navigator.lab.speculation.runs import Run

_SLACK = 1.02
"""Two percent: rounding and scatter are no contradiction."""

_REQUANTISED = 2.5
"""More than another quantisation of the same model can make it faster."""


def more_than_its_tokens(runs: Sequence[Run], _: Facts) -> Iterable[Finding]:
    """A speed-up above τ: even free drafts, verified at the price of one step, do not give it."""
    for row in tables.speculation(runs):
        if row.speedup is None or row.tokens_per_round is None or row.rate is None:
            continue
        if row.speedup > row.tokens_per_round * _SLACK:
            yield Finding(
                "faster than its tokens",
                "impossible",
                name(row),
                f"{percent(row.rate)} of {row.gamma} drafts accepted make 1 + {row.gamma} × {row.rate:.4f} ="
                f" {row.tokens_per_round:.3f} tokens a round. A round verifies {row.gamma + 1} tokens, which takes at least"
                f" one step of the target. So speed grows by at most {row.tokens_per_round:.3f}×, with drafts for nothing."
                f" The table has {row.speedup:.3f}×.",
                row.lines,
            )


def below_the_floor(runs: Sequence[Run], facts: Facts) -> Iterable[Finding]:
    """Rounds, or steps, in less time than reading the weights takes."""
    if facts.bandwidth <= 0:
        return
    groups: dict[tuple[str, str, int], list[Run]] = defaultdict(list)
    for run in runs:
        seconds = run.round_seconds if run.speculated else 1 / run.speed
        floor = _floor(run, facts)
        if seconds is not None and floor is not None and seconds * _SLACK < floor[0]:
            groups[run.target, run.draft, run.gamma].append(run)
    for (target, draft, gamma), group in groups.items():
        floor = _floor(group[0], facts)
        assert floor is not None
        seconds = statistics.fmean((run.round_seconds or 0) if gamma else 1 / run.speed for run in group)
        what = f"A round at γ = {gamma}" if gamma else "A step"
        yield Finding(
            "below the bandwidth's floor",
            "impossible",
            label(target, draft, gamma),
            f"{what} reads {floor[1]}; at {facts.bandwidth:g} GB/s that takes {1000 * floor[0]:.2f} ms."
            f" The table implies {1000 * seconds:.2f} ms (mean of {len(group)})."
            + ("" if gamma else " So not all of it is read for a token: give what a token reads."),
            tuple(run.line for run in group),
        )


def _floor(run: Run, facts: Facts) -> tuple[float, str] | None:
    """Seconds to read what a round reads, and the sum in words. A model of unknown size counts nothing."""
    target = facts.gigabytes.get(run.target)
    draft = facts.gigabytes.get(run.draft) if run.speculated else None
    parts = [(run.gamma, draft)] * (draft is not None) + [(1, target)] * (target is not None)
    if not parts:
        return None
    total = sum(count * (size or 0) for count, size in parts)
    words = " + ".join(f"{count} × {size:g} GB" if count > 1 else f"{size:g} GB" for count, size in parts)
    return formulas.floor_seconds(total, facts.bandwidth), words


def drafts_too_fast(runs: Sequence[Run], facts: Facts) -> Iterable[Finding]:
    """A draft model that would have to draft faster than it ran alone."""
    alone = tables.means(runs)
    for row in tables.speculation(runs):
        model = facts.same.get(row.draft) or (row.draft if row.draft in alone else _alike(row.draft, alone))
        if model is None or model not in alone or row.round_ms is None:
            continue
        needed = 1000 * formulas.drafting_seconds(row.gamma, alone[model])
        if needed > row.round_ms * _SLACK:
            speed = 1000 * row.gamma / row.round_ms
            sure = row.draft in (model, *facts.same) or speed > _REQUANTISED * alone[model]
            yield Finding(
                "drafts too fast",
                "impossible" if sure else "mismatch",
                name(row),
                f"{row.gamma} draft steps at the {alone[model]:.1f} tok/s of {model} alone take {needed:.1f} ms. The whole"
                f" round, verifying included, would have taken {row.round_ms:.1f} ms: the draft would have run at more than"
                f" {speed:.0f} tok/s, {speed / alone[model]:.1f} times its own speed. Another quantisation of it gives"
                " perhaps a factor of two.",
                row.lines,
            )


def _alike(draft: str, models: Iterable[str]) -> str | None:
    """The one model whose name ends like the draft's, e.g. in `_0.8b`."""
    ending = draft.rpartition("_")[2] or draft
    found = [model for model in models if model != draft and model.rpartition("_")[2] == ending]
    return found[0] if len(found) == 1 else None
