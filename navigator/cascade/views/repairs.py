"""How often a proposal's answer was repaired before its review, from the calls that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.model.models import CheckResult, Proposal
from navigator.model.states import CheckOutcome

if TYPE_CHECKING:
    from navigator.store.reads.loop import RepairCall
    from navigator.store.reads.reader import Reader

_MENDED = (CheckOutcome.PASSED, CheckOutcome.FAILED_BEFORE)


def repair_prompts(reader: Reader, proposal: Proposal) -> tuple[str, ...]:
    """The versions of the prompts that its repairs were asked with, once each, in the order they were first asked."""
    return tuple(dict.fromkeys(call.prompt_version for call in _repairs(reader, proposal)))


def mended_words(reader: Reader, proposal: Proposal) -> str:
    """`tests failed first, fixed in 2 repairs`; "" where its tests never failed, or no repair was asked for."""
    made = len({call.seq for call in _repairs(reader, proposal) if call.purpose == "repair-tests"})
    if not made:
        return ""
    repairs = "1 repair" if made == 1 else f"{made} repairs"
    tests: CheckResult | None = next((check for check in proposal.checks if check.name == "tests"), None)
    if tests is not None and tests.outcome in _MENDED:
        return f"tests failed first, fixed in {repairs}"
    return f"tests failed first, {repairs} did not fix them"


def _repairs(reader: Reader, proposal: Proposal) -> list[RepairCall]:
    """A part was written with the whole that it was taken from."""
    return reader.repair_calls(reader.proposal(proposal.parent) if proposal.parent else proposal)
