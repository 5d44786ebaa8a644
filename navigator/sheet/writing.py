"""A proposal's making and its task's history in words: prompt, looks, agents, tests of findings, comments, events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from navigator.model import patterns
from navigator.model.states import (
    REPRODUCED,
    Judgement,
    LookKind,
    LookOutcome,
    ReproductionOutcome,
    RevisedOutcome,
    TaskState,
)
from navigator.model.text import plural, safe_line

if TYPE_CHECKING:
    from navigator.context.build import Context
    from navigator.context.pack import ContextFile
    from navigator.model.models import Event, Finding, Proposal, Reproduction
    from navigator.model.records import AgentTurn, Comment, JudgementCount, Look
    from navigator.model.states import Role
    from navigator.store.reads.proposals import ProposalReads
    from navigator.store.reads.reader import Reader


_NOT_SHOWN = frozenset({LookOutcome.NOTHING, LookOutcome.REPEATED, LookOutcome.REFUSED, LookOutcome.NO_ROOM})


class Piece(NamedTuple):
    """One part of a prompt, and why it is there.

    `shared` parts are the same for every task of the base; `path` and `lines` are "" for what is not of a file.
    """

    part: str
    tokens: int
    why: str
    shared: bool = False
    path: str = ""
    lines: str = ""


def pieces_of(context: Context) -> list[Piece]:
    """What a prompt shows of a project, part by part, in the prompt's order."""

    def of_file(part: str, file: ContextFile, *, shared: bool = False) -> Piece:
        last = file.first + len(file.text.splitlines()) - 1
        lines = "" if file.whole else f"{file.first}-{last}"
        return Piece(part, file.tokens, file.why, shared, file.path, lines)

    found = [of_file("conventions", context.conventions, shared=True)] if context.conventions else []
    found.append(Piece("tree", context.tree_tokens, "all paths; large folders as a count", shared=True))
    if context.map:
        found.append(Piece("map", context.map_tokens, "definitions in the most used files", shared=True))
    found += [of_file("file", file) for file in context.files]
    found += [of_file("excerpt", file) for file in context.excerpts]
    if context.nearby:
        found.append(Piece("nearby", context.nearby_tokens, "definitions in the next files by rank"))
    return found


def looks_of(reader: ProposalReads, proposal: Proposal) -> list[Look]:
    """The looks that a proposal was written after: those of its attempt up to its round. A part was written with its whole."""
    whole = reader.proposal(proposal.parent) if proposal.parent else proposal
    looks = reader.looks(whole.task_id, whole.attempt)
    return [look for look in looks if look.round <= whole.round and look.role is whole.written_by]


def looks_words(looks: Sequence[Look]) -> str:
    """`read 4 files, searched 2 times in 3 looks`; "" where there was no look."""
    if not looks:
        return ""
    shown = [look for look in looks if look.outcome not in _NOT_SHOWN]
    files = {path for look in shown for path in look.paths}
    searches = sum(look.kind in (LookKind.SEARCH, LookKind.USES) for look in looks)
    turns = plural(len({(look.attempt, look.round, look.turn) for look in looks}), "look")
    return f"read {plural(len(files), 'file')}, searched {plural(searches, 'time')} in {turns}"


def look_lines(looks: Iterable[Look]) -> list[str]:
    """Each turn, then what was asked in it and what became of that, a line each."""
    lines = []
    for (attempt, round, turn), asked in groupby(
        looks, key=lambda look: (look.attempt, look.round, look.turn)
    ):
        mine = list(asked)
        tokens = sum(look.tokens for look in mine)
        lines.append(f"attempt {attempt + 1} round {round} look {turn}: {tokens:,} tokens")
        lines += [f"  {look.target}  {_became(look)}".rstrip() for look in mine]
    return lines


def _became(look: Look) -> str:
    return "" if look.outcome is LookOutcome.SHOWN else f"({look.outcome.value.replace('_', ' ')})"


# What a coding agent did, in words.


def turns_of(reader: ProposalReads, proposal: Proposal) -> list[AgentTurn]:
    """The turns that a proposal came from: those of its round."""
    if not proposal.way.startswith("agent "):
        return []
    return reader.agent_turns(proposal.task_id, proposal.attempt, proposal.round)


def agent_words(turns: Sequence[AgentTurn]) -> str:
    """`Qwen Code 0.24.4: 4 requests in 12 s`; "" where no agent wrote."""
    if not turns:
        return ""
    requests, seconds = sum(turn.requests for turn in turns), sum(turn.seconds for turn in turns)
    return f"{turns[-1].agent}: {plural(requests, 'request')} in {seconds:.0f} s"


def repair_prompts(reader: Reader, proposal: Proposal) -> tuple[str, ...]:
    """The versions of the prompts that its repairs were asked with, once each, in the order they were first asked."""
    whole = reader.proposal(proposal.parent) if proposal.parent else proposal
    return tuple(dict.fromkeys(reader.repair_prompts(whole)))


# What became of the test of a finding, in words.

_HEADS = {
    ReproductionOutcome.UNASKED: "its test is still to be written",
    ReproductionOutcome.PENDING: "its test is still to be run",
    ReproductionOutcome.REGRESSION: "reproduced: a test passes on the base and fails here",
    ReproductionOutcome.UNMET: "reproduced: a test fails on the base and here (unmet requirement)",
}


def reproduction_words(finding: Finding) -> str:
    """`reproduced: a test passes on the base and fails here`; "" where no test was asked for."""
    made = finding.reproduction
    if made is None:
        return ""
    if made.outcome is ReproductionOutcome.NOT_REPRODUCED:
        said = f"not reproduced: {made.reason}"
    elif made.outcome is ReproductionOutcome.COULD_NOT_RUN:
        said = f"could not be run: {made.reason}"
    else:
        said = _HEADS[made.outcome]
    return f"{said}{_revised(made)}"


ENOUGH_JUDGED = 5
"""Judged findings of one sort from which on their share is said beside another one."""


def record_words(counts: Sequence[JudgementCount], project: str, finding: Finding) -> str:
    """`like this, here: right in 3 of 14 [8–48 %]`, of the narrowest sort of which enough were judged; "" where none is."""
    of_kind = [one for one in counts if one.criterion is finding.criterion]
    if not of_kind:
        return ""
    from navigator.figures.intervals import share

    here = [one for one in of_kind if one.project == project]
    for words, rows in (
        ("like this, here", [one for one in here if one.severity is finding.severity]),
        (f"on {finding.criterion.value}, here", here),
        (f"on {finding.criterion.value}, in all projects", of_kind),
    ):
        found = share(
            sum(one.n for one in rows if one.judgement is Judgement.RIGHT), sum(one.n for one in rows)
        )
        if found.n >= ENOUGH_JUDGED:
            low, high = round(100 * found.low), round(100 * found.high)
            return f"{words}: right in {found.k} of {found.n} [{low}–{high} %]"
    return ""


def numbered(proposal: Proposal) -> list[tuple[Role, int, Finding]]:
    """What a proposal's readers found, in the order in which it is numbered from 1: whose it is, its place there, the finding."""
    read = [review for review in (proposal.review, proposal.final_review) if review]
    return [(one.role, place, finding) for one in read for place, finding in enumerate(one.findings)]


def lines_below(finding: Finding) -> list[str]:
    """What is said below a finding: what became of its test, what the developer said of it, and a precedent that it follows."""
    lines, judged, made = _reproduction_lines(finding), finding.judged, finding.reproduction
    if finding.precedent:
        fails = made is not None and made.outcome in REPRODUCED
        counts = "counts, as its test fails" if fails else "decides nothing"
        lines.append(f"follows precedent {finding.precedent}: {counts}")
    if judged is None:
        return lines
    said = f"you: {judged.judgement.value.replace('_', ' ')}{f': {judged.note}' if judged.note else ''}"
    return [*lines, safe_line(said)]


def comment_text(comment: Comment) -> str:
    """A comment as a note quotes it: where, the line, the words."""
    return f"{place_of(comment)}: {comment.quote.strip()}".removesuffix(": ") + f"\n  {comment.text}"


def place_of(comment: Comment) -> str:
    """The file of a comment, with the line where it is about one."""
    return f"{comment.path}:{comment.line}" if comment.line else comment.path


def _reproduction_lines(finding: Finding) -> list[str]:
    """`reproduction_words` with the test's path, and the first line of what it said when it failed."""
    made = finding.reproduction
    words = reproduction_words(finding)
    if made is None or not words:
        return []
    lines = [f"{words} · {safe_line(made.path)}" if made.path else words]
    error = made.failure.partition("\n")[2].strip().partition("\n")[0]
    return [*lines, safe_line(error)] if error and made.outcome in REPRODUCED else lines


def _revised(made: Reproduction) -> str:
    if made.revised is RevisedOutcome.NONE:
        return ""
    if made.revised is RevisedOutcome.PASSES:
        confirmed = "confirmed: " if made.outcome is ReproductionOutcome.UNMET else ""
        return f"; {confirmed}passes on {made.revised_by}"
    if made.revised is RevisedOutcome.FAILS:
        return f"; still fails on {made.revised_by}"
    return f"; could not be run on {made.revised_by}"


# An event of a task as people read it

_NAMES_OF_STATES = frozenset({"from", "to", "state", "outcome", "purpose", "role", "verdict", "kind", "code"})
"""Fields that hold a word of Navigator's own, shown with blanks for underscores. Other text, such as a path, is shown
as it is."""
_HASH = patterns.compile(r"[0-9a-f]{40,64}")
_SHOWN_OF_HASH = 10


def event_words(event: Event) -> tuple[str, str]:
    """What happened and the particulars, each one line without control characters; the second may be ""."""
    kind = safe_line(event.kind.replace("_", " "))
    if event.kind == "task_state":
        data = event.data
        moved = f"{_value('from', data.get('from'))} → {_value('to', data.get('to'))}"
        reason = data.get("reason")
        return kind, safe_line(f"{moved}: {reason}" if reason else moved)
    if event.kind == "task_linked" and not event.data.get("after"):
        return kind, "after no other task"
    said = [
        words if key == "seconds" else f"{key.replace('_', ' ')} {words}"
        for key, value in event.data.items()
        if (words := _value(key, value))
    ]
    return kind, safe_line(", ".join(said))


_REPORTED = frozenset(
    {state.value for state in TaskState} - {"queued", "generating", "checking", "reviewing"}
)
"""States of a task that are told while a session runs."""


def progress_line(event: Event) -> str:
    """An event as a session tells it while it runs; "" for those that say little."""
    told = event.data
    reason = safe_line(str(told.get("reason") or ""))[:160]
    because = f": {reason}" if reason else ""
    match event.kind:
        case "task_state" if told.get("to") in _REPORTED:
            return f"{event.task_id} {str(told['to']).replace('_', ' ')}{because}"
        case "swap_begun":
            to = told.get("to")
            return f"swap to {to} begins" if told.get("from") else f"loading the {to} begins"
        case "swap_added":
            return f"swap to {told.get('to')}: {told.get('outcome')} in {told.get('seconds', 0.0):.1f} s{because}"
        case "server_problem":
            return (
                f"the {told.get('role')}'s server: {safe_line(str(told.get('problem') or 'answers again'))}"
            )
        case "disk_low":
            return f"disk full ({told.get('free_mb')} MB free): no new work is started"
        case "disk_free":
            return "disk space is available again"
    return ""


def _value(key: str, value: Any) -> str:
    """A field's value in words; "" where there is nothing to say."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.1f} s" if key.endswith("seconds") else f"{value:.1f}"
    if isinstance(value, str):
        if key in _NAMES_OF_STATES:
            return value.replace("_", " ")
        return value[:_SHOWN_OF_HASH] if _HASH.fullmatch(value) else value
    if isinstance(value, Mapping):
        return " ".join(said for name, held in value.items() if (said := _value(str(name), held)))
    if isinstance(value, Sequence):
        return ", ".join(said for held in value if (said := _value(key, held)))
    return str(value + 1) if key == "attempt" else str(value)
