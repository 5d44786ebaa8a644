"""States; `states.toml` is the one table of transitions between them, and of what a task waits for in each.

The code obeys this table through `require_transition` of `navigator.store.schema`; the database obeys it through triggers
that are generated there from the same table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from navigator.model.json_text import table


class TaskState(StrEnum):
    """Where a task stands. Terminal for the loop: done, landed, rejected, failed, cancelled, undone."""

    QUEUED = "queued"
    GENERATING = "generating"
    CHECKING = "checking"
    AWAITING_REVIEW = "awaiting_review"
    REVIEWING = "reviewing"
    REVISING = "revising"
    FINAL_REVIEW = "final_review"
    AWAITING_APPROVAL = "awaiting_approval"
    APPROVED = "approved"
    LANDED = "landed"
    REJECTED = "rejected"
    FAILED = "failed"
    STALE = "stale"
    CANCELLED = "cancelled"
    UNDONE = "undone"
    DONE = "done"


class ProposalState(StrEnum):
    """Open until a later round or attempt supersedes it or the developer decides."""

    OPEN = "open"
    SUPERSEDED = "superseded"
    DECIDED = "decided"
    LANDED = "landed"


class SuggestionState(StrEnum):
    """Open until the developer accepts or dismisses it."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DISMISSED = "dismissed"


class Role(StrEnum):
    """Whose turn on the GPU, or in the cloud, it is."""

    GENERATOR = "generator"
    REVIEWER = "reviewer"
    FINAL = "final"


class Escalation(StrEnum):
    """What the developer asked for with `escalate`, until that reading is done."""

    NONE = ""
    NEXT = "next"
    """Its review comes next; it goes on as after any other review."""
    AGAIN = "again"
    """Another reading of a proposal that waits for the developer; it comes back whatever that reading says."""


class TaskKind(StrEnum):
    """What sort of work a task asks for."""

    SCAN = "scan"
    IMPLEMENT = "implement"
    FIX = "fix"
    REFACTOR = "refactor"
    TEST = "test"
    DOCS = "docs"
    SECURITY = "security"
    ARCHITECTURE = "architecture"


REPORT_KINDS = frozenset({TaskKind.ARCHITECTURE, TaskKind.SCAN})
"""Kinds whose output is a report, never a change. A scan's has a list of suggestions beside it."""

EITHER_KINDS = frozenset({TaskKind.SECURITY})
"""Kinds whose answer decides: without an edit block and beginning with a Markdown heading it is a report, else a change."""


class Complexity(StrEnum):
    """The developer's own estimate of a task."""

    SIMPLE = "simple"
    MEDIUM = "medium"
    COMPLEX = "complex"


class CanaryOutcome(StrEnum):
    """What a model's answers to the canary's questions came to; `unanswered`: there is nothing to judge."""

    WELL = "well"
    GARBAGE = "garbage"
    UNANSWERED = "unanswered"


class ExamSource(StrEnum):
    """Where an exam item comes from.

    `reversed_fix` takes a fix of the project's own history back, `clean` is a harmless change of the same form. Of the
    backtest, not of the exam, are `shipped`, a commit that brought in a bug, and `innocent`, one beside it that no fix leads
    to. `synthetic` is one of the cases that come with Navigator.
    """

    REVERSED_FIX = "reversed_fix"
    CLEAN = "clean"
    SHIPPED = "shipped"
    INNOCENT = "innocent"
    SYNTHETIC = "synthetic"


# Commits as they were, which the backtest asks about.
PAST = (ExamSource.SHIPPED, ExamSource.INNOCENT)


class Verdict(StrEnum):
    """Derived from grounded findings; UNREVIEWED when the answer could not be read."""

    APPROVE = "APPROVE"
    REVISE = "REVISE"
    UNREVIEWED = "UNREVIEWED"


class Severity(StrEnum):
    """How much a finding matters; blocker and major, grounded, make REVISE."""

    BLOCKER = "blocker"
    MAJOR = "major"
    MINOR = "minor"
    NIT = "nit"


class Criterion(StrEnum):
    """What a finding is about."""

    CORRECTNESS = "correctness"
    COMPLETENESS = "completeness"
    SAFETY = "safety"


class FindingKind(StrEnum):
    """`wrong` quotes a hunk; `missing` quotes the task or the context and names the hunk that makes it needed."""

    WRONG = "wrong"
    MISSING = "missing"


class ReproductionOutcome(StrEnum):
    """What became of the test that the reviewer was asked for to prove a finding.

    `unasked` and `pending` are on the way: the test is still to be written, or to be run.
    """

    UNASKED = "unasked"
    PENDING = "pending"
    REGRESSION = "regression"
    """It passes on the base and fails on the proposal."""
    UNMET = "unmet"
    """It fails on both: a requirement that the proposal does not meet. Confirmed when a revision makes it pass."""
    NOT_REPRODUCED = "not_reproduced"
    """It passes on the proposal, or it proves nothing."""
    COULD_NOT_RUN = "could_not_run"


REPRODUCED = frozenset({ReproductionOutcome.REGRESSION, ReproductionOutcome.UNMET})
"""A test shows what the finding says."""


class RevisedOutcome(StrEnum):
    """What the test of a finding said of the next revision."""

    NONE = ""
    PASSES = "passes"
    FAILS = "fails"
    COULD_NOT_RUN = "could_not_run"


class Judgement(StrEnum):
    """The developer's word on one finding."""

    RIGHT = "right"
    WRONG = "wrong"
    NOT_WORTH_IT = "not_worth_it"
    """It is true, and nobody would change anything for it."""


class DecisionKind(StrEnum):
    """The developer's word on one proposal."""

    APPROVE = "approve"
    REJECT = "reject"
    SEND_BACK = "send_back"


class LandingState(StrEnum):
    """How far an approved tree got on its way to a branch."""

    PENDING = "pending"
    LANDED = "landed"
    REFUSED = "refused"
    UNDONE = "undone"


class CheckOutcome(StrEnum):
    """What a deterministic gate said."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    FAILED_BEFORE = "failed_before"
    """It fails as it fails on the base: not this change's doing."""
    UNTESTED = "untested"
    """It could not be asked: no command, no sandbox, or a part is missing."""


class PolicyAction(StrEnum):
    """What a policy rule asks for: refuse the proposal, or have the developer confirm the item separately."""

    REFUSE = "refuse"
    CONFIRM = "confirm"


class Rung(StrEnum):
    """The rung of the matching ladder on which an edit applied."""

    EXACT = "exact"
    TRAILING_WHITESPACE = "trailing_whitespace"
    INDENT = "indent"
    UNICODE = "unicode"
    NEW_FILE = "new_file"
    WHOLE_FILE = "whole_file"
    DELETE = "delete"
    RENAME = "rename"
    IN_PLACE = "in_place"
    """No ladder: an agent edited the file itself."""


class EditCode(StrEnum):
    """Why an answer's edits did not apply; the same words go back to the model."""

    NO_MATCH = "NO_MATCH"
    AMBIGUOUS = "AMBIGUOUS"
    ALREADY_APPLIED = "ALREADY_APPLIED"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    NO_OP = "NO_OP"
    UNKNOWN_PATH = "UNKNOWN_PATH"
    OMISSION = "OMISSION"
    MARKER = "MARKER"
    ENCODING = "ENCODING"
    SYNTAX = "SYNTAX"
    POLICY = "POLICY"
    """The edits applied, and the tree they made is refused by the path policy."""


_T = TaskState
_TABLE = table(__package__, "states.toml")

TASK_TRANSITIONS: dict[TaskState, frozenset[TaskState]] = {
    state: frozenset(map(TaskState, _TABLE["task"][state]["to"])) for state in TaskState
}
PROPOSAL_TRANSITIONS: dict[ProposalState, frozenset[ProposalState]] = {
    state: frozenset(map(ProposalState, _TABLE["proposal"][state])) for state in ProposalState
}

RETRYABLE_TASK_STATES = frozenset({_T.REJECTED, _T.FAILED, _T.STALE, _T.CANCELLED, _T.UNDONE})
CANCELLABLE_TASK_STATES = frozenset(s for s, to in TASK_TRANSITIONS.items() if _T.CANCELLED in to)


class LookKind(StrEnum):
    """What a model may ask to be shown before it answers: the first word of a request."""

    READ = "read"
    SEARCH = "search"
    LIST = "list"
    DEFINITION = "definition"
    USES = "uses"


class LookOutcome(StrEnum):
    """What became of one request: shown, shown in part, nothing found, asked before, refused, or no tokens left."""

    SHOWN = "shown"
    CUT = "cut"
    NOTHING = "nothing"
    REPEATED = "repeated"
    REFUSED = "refused"
    NO_ROOM = "no_room"


# What a task waits for, and how far it is: a few facts that follow from its state, in one table.
#
# Everything that asks "whose turn is it?" asks here: the scheduler, `status`, the Deck, the metrics.


class Needs(StrEnum):
    """What a task waits for, or what works on it."""

    GENERATOR = "generator"
    REVIEWER = "reviewer"
    FINAL = "final"
    CPU = "cpu"
    TASK = "another task"
    DEVELOPER = "developer"
    NOTHING = "nothing"


class Phase(StrEnum):
    """How far a task is. It may go back: after a review it may be written again."""

    WRITE = "write"
    CHECK = "check"
    PROVE = "prove"
    """The tests of its review's findings run."""
    REVIEW = "review"
    FINAL = "final"
    DECIDE = "decide"
    LAND = "land"


@dataclass(frozen=True, slots=True)
class Standing:
    """What a task needs, its phase, and whether a stage has begun on it. One that ended needs nothing.

    `role` is the role that it needs; None where that is no model.
    """

    needs: Needs
    phase: Phase
    running: bool = False
    role: Role | None = field(init=False)

    def __post_init__(self) -> None:
        # Asked for every task of every step of a forecast: kept, not derived each time.
        object.__setattr__(self, "role", next((role for role in Role if role == self.needs.value), None))


_STANDING = {
    state: Standing(Needs(entry["needs"]), Phase(entry["phase"]), entry.get("running", False))
    for state in TaskState
    for entry in (_TABLE["task"][state],)
}


@cache
def standing(
    state: TaskState, writer: Role = Role.GENERATOR, *, proving: bool = False, blocked: bool = False
) -> Standing:
    """Where a task stands.

    Args:
        state: as the store has it, and JSON's `state`.
        writer: the role that writes it.
        proving: its checks are the tests of its review's findings.
        blocked: it comes after a task that has not landed.
    """
    found = _STANDING[state]
    if blocked and state is TaskState.QUEUED:
        return Standing(Needs.TASK, Phase.WRITE)
    if found.needs is Needs.GENERATOR:
        return Standing(Needs(writer.value), found.phase, found.running)
    return Standing(Needs.CPU, Phase.PROVE, running=True) if proving and found.phase is Phase.CHECK else found


ENDED_TASK_STATES = frozenset(state for state, one in _STANDING.items() if one.needs is Needs.NOTHING)
"""States in which nothing more happens by itself, and nobody is waited for."""

LIVE_TASK_STATES = frozenset(_STANDING) - ENDED_TASK_STATES
"""The others."""

LOOP_TASK_STATES = frozenset(
    state for state in LIVE_TASK_STATES if _STANDING[state].phase not in (Phase.DECIDE, Phase.LAND)
)
"""States in which the loop still has something to do before the developer decides."""

FOR_DEVELOPER = frozenset({_T.AWAITING_APPROVAL, _T.STALE, _T.FAILED})
"""States in which a task waits for the developer, whatever else is true of it."""


def waits_for_developer(state: TaskState, landing: str = "") -> bool:
    """Whether a task waits for the developer: to decide, to read, to try again or to put away.

    Args:
        landing: how far its approval got; one that was refused waits, one that is due lands by itself.
    """
    return state in FOR_DEVELOPER or (state is _T.APPROVED and landing == LandingState.REFUSED)
