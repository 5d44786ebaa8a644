"""`navigator proposals`: what the models proposed and what waits for you."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from navigator.cli import output, session
from navigator.cli.command import ProjectName, command, switch_given
from navigator.model.errors import UsageError
from navigator.model.states import ProposalState
from navigator.model.text import safe_line
from navigator.sheet.marks import facts_of, head, labels, marks
from navigator.sheet.waiting import mark_document, row_head, tips, waiting_document, what_to_do
from navigator.sheet.waiting import waiting as waits_for_you
from navigator.store.reads.cards import GlanceReads

if TYPE_CHECKING:
    from navigator.model.models import Proposal
    from navigator.store.reads.cards import Card


@command()
def proposals(
    *,
    state: ProposalState | None = None,
    all_: bool = False,
    project: ProjectName | None = None,
) -> None:
    """List what waits for you: proposals, and tasks to read, to try again or to put away.

    Args:
        state: Only those in one state.
        all_: List all proposals (the default with --json).
        project: Only those of one project.
    """
    if state and all_:
        raise UsageError("Use only one of --state and --all.")
    session.known_project(project)
    if not (state or all_ or switch_given("--json")):
        with session.glancing(GlanceReads) as store:
            _show_waiting(waits_for_you(store, project, tips(store)))
        return
    with session.reading() as store:
        bases = tips(store)
        items = waits_for_you(store, project, bases)
        found = store.proposals(states={state} if state else None, project=project)
        pairs = list(zip(found, facts_of(store, [one.id for one in found], bases), strict=True))
        documents = [marked_document(*pair) | {"rehearsal": store.rehearsal} for pair in pairs]
    output.show(
        {"proposals": documents, "waiting": [waiting_document(card) for card in items]},
        lambda _: _show_proposals(pairs, state is not None),
    )


def marked_document(proposal: Proposal, of: Card) -> dict[str, Any]:
    """A proposal as JSON has it, with its marks."""
    beside = {"overlaps": list(of.overlaps), "marks": [mark_document(mark) for mark in marks(of)]}
    return proposal.model_dump(mode="json") | beside


def _show_waiting(items: Sequence[Card]) -> None:
    nothing = "Nothing waits for you. `navigator proposals --all` lists all; `navigator run` makes more."
    _table(((card, card.id, "") for card in items), nothing)
    for card in items:
        if not card.open or card.existing:
            why = f"{safe_line(card.reason).rstrip('.')}. " if card.reason else ""
            output.say(f"{card.id}: {why}{what_to_do(card)}")


def _show_proposals(pairs: Sequence[tuple[Proposal, Card]], of_one_state: bool) -> None:
    rows = ((of, proposal.id, (proposal.landing or proposal).state.value) for proposal, of in pairs)
    _table(rows, "There are none." if of_one_state else "No proposals. `navigator run` makes them.")


def _table(rows: Iterable[tuple[Card, str, str]], empty: str) -> None:
    """A line for each card, with the id that names it and its state; "" where that goes without saying."""
    output.table(
        rows,
        ("proposal", lambda row: row[1]),
        ("project", lambda row: row[0].project),
        ("says", lambda row: (head if row[2] else row_head)(row[0]).word),
        ("round", lambda row: f"r{row[0].proposal_round}" if row[0].proposal else ""),
        ("batch", lambda row: row[0].batch),
        ("", lambda row: f"+{row[0].added}" if row[0].proposal else ""),
        ("", lambda row: f"−{row[0].removed}" if row[0].proposal else ""),
        ("title", lambda row: row[0].title),
        ("", lambda row: ", ".join(filter(None, (row[2], *_notes(row[0], waiting=not row[2]))))),
        empty=empty,
    )


def _notes(card: Card, *, waiting: bool) -> Iterator[str]:
    if waiting and card.variants > 1:
        yield f"variant {card.variant}/{card.variants}"
    yield from (words for words, _ in labels(card))
    if waiting and card.open and not card.seen:
        yield "not seen"
