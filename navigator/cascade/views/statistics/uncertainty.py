"""Whether the entropy of a change says anything about its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from navigator.cascade.views.statistics.page import Column, Row, StatisticsPage, Table
from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.figures.uncertainty import NOT_RELATED, OPPOSITE, RELATED, TOO_FEW, Relation, relations
from navigator.model.text import safe_line

_COLUMNS = (
    Column("n", 6),
    Column("AUC", 6),
    Column("95 %", 12),
    Column("REVISE", 8),
    Column("APPROVE", 8),
)


@dataclass(frozen=True, slots=True)
class Uncertainties:
    """Every writer's."""

    relations: tuple[Relation, ...]


def _tables(found: Uncertainties) -> Sequence[Table]:
    mine = found.relations
    if not mine:
        return ()
    notes = [
        "AUC: pairs in which REVISE has the higher entropy; 0.50 says nothing",
        "REVISE, APPROVE: mean bits a token of changes with that first verdict",
    ]
    if any(one.n < ANECDOTAL_BELOW for one in mine):
        notes.append(f"anecdotal: n below {ANECDOTAL_BELOW}")
    return (
        Table(
            "DOES UNCERTAINTY TELL?",
            _COLUMNS,
            tuple(map(_row, mine)),
            answer=sentence(mine),
            notes=tuple(notes),
        ),
    )


def _row(one: Relation) -> Row:
    auc = "–" if one.auc is None else f"{one.auc:.2f}"
    limits = f"[{one.low:.2f}–{one.high:.2f}]" if one.auc is not None else ""
    means = ("–" if value is None else f"{value:.2f}" for value in (one.revise_mean, one.approve_mean))
    few = ", anecdotal" if one.n < ANECDOTAL_BELOW and one.verdict is not TOO_FEW else ""
    label = safe_line(f"{one.measure} entropy, {one.model}")
    return Row(label, (f"{one.n:,}", auc, limits, *means), note=one.verdict + few)


def sentence(found: Sequence[Relation]) -> str:
    """What the mean entropy says, of the writer with the most verdicts."""
    best = max(found, key=lambda one: (one.measure == "mean", one.n))
    n = f"{best.n} first verdicts"
    words = {
        RELATED: f"Yes: changes that are sent back were written with more uncertainty ({n}).",
        OPPOSITE: f"The other way round: changes that are sent back were written with less uncertainty ({n}).",
        NOT_RELATED: f"Not related so far ({n}): it decides nothing but the order within a batch.",
        TOO_FEW: f"Too few to tell ({n}; {ANECDOTAL_BELOW} with both verdicts are the least).",
    }
    return words[best.verdict]


PAGE: StatisticsPage[Uncertainties] = StatisticsPage(
    name="uncertainty",
    title="Uncertainty",
    help="Whether changes that are sent back were written with a higher entropy: AUC with its interval.",
    missing="No change with a known entropy has a verdict yet. `[generator] logprobs` asks the server for it.",
    read=lambda reader, question: Uncertainties(relations(reader.entropy_ranks(question.since))),
    tables=_tables,
    document=lambda found: {"uncertainty": [asdict(row) for row in found.relations]},
)
