"""One decision on many proposals: what it covers, what it leaves out and why, and the outcome for each."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from navigator.actions.approve import Approve, destination
from navigator.actions.base import Level, Told, refusal_of
from navigator.actions.deciding import Decide, Pinned, Reject, require_tree
from navigator.model.errors import NavigatorError
from navigator.model.models import Proposal
from navigator.model.states import DecisionKind
from navigator.model.text import plural, safe_line
from navigator.sheet.marks import Kind, facts_of, left_out, read_card
from navigator.store.reads.cards import Card
from navigator.store.reads.reader import Reader
from navigator.tui.base import DecideAll
from navigator.tui.keys import bindings_of
from navigator.tui.verbs import send
from navigator.tui.widgets.cells import Piece, clip, fit, justified, length
from navigator.tui.widgets.markdown import wrapped
from navigator.tui.widgets.page import Line, Page, PieceLines
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import Dialog

NOT_SEEN = "not seen"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One proposal of the request. `reason` says why it cannot be decided on here; "" for none. `mark` is what leaves it out."""

    id: str
    tree: str
    project: str
    title: str
    reason: str = ""
    seen: bool = True
    included: bool = False
    added: int = 0
    removed: int = 0
    mark: Kind | None = None

    @property
    def left_out(self) -> str:
        """Why it is left out now."""
        return self.reason or ("" if self.seen or self.included else NOT_SEEN)


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A line of the list: a heading where `candidate` is None."""

    key: str
    text: str = ""
    end: str = ""
    candidate: Candidate | None = None


@dataclass(frozen=True)
class BatchFacts:
    """What was read about a request: the candidates in order, and by project where they land, its hooks and problems."""

    candidates: tuple[Candidate, ...] = ()
    destinations: Mapping[str, str] = field(default_factory=dict)
    hooks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


class BatchDialog(Dialog):
    """Ends with the ids that were decided, or None.

    It covers exactly the ids and trees of its request; whatever changed meanwhile is left out and said.
    """

    SCOPE = "batch"
    CSS_PATH = "batch.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("batch")

    def __init__(self, request: DecideAll) -> None:
        super().__init__()
        self._kind = request.kind
        self._pairs = request.proposals
        self._facts = BatchFacts()
        self._outcomes: dict[str, Told] = {}
        self._stage = "reading"

    def compose(self) -> ComposeResult:
        """Question, list, notes, answers."""
        with Vertical():
            yield PieceLines(id="question")
            yield RowList[BatchLine](lambda row: row.key, _draw, id="rows")
            yield Page(self._results, id="results")
            yield PieceLines(id="notes")
            yield PieceLines(id="answer")

    def on_mount(self) -> None:
        """Read each of them as it is now."""
        self._show()
        self._look()

    @property
    def taken(self) -> list[Candidate]:
        """What confirming decides on."""
        return [candidate for candidate in self._facts.candidates if not candidate.left_out]

    @property
    def left_out(self) -> list[Candidate]:
        """What it leaves out; each says why."""
        return [candidate for candidate in self._facts.candidates if candidate.left_out]

    @work(exclusive=True)
    async def _look(self) -> None:
        try:
            self._facts = await self.app.feed.read(partial(batch_facts, kind=self._kind, pairs=self._pairs))
        except NavigatorError as error:
            self.app.toast(str(error), "error")
            self.dismiss(None)
            return
        self._stage = "asking"
        self._show()
        rows = self.query_one(RowList)
        places = {row.key: place for place, row in enumerate(rows.rows)}
        unseen = next((c.id for c in self._facts.candidates if c.left_out == NOT_SEEN), "")
        if self.taken and places.get(unseen, 0) >= self._height(len(places)):
            unseen = ""  # what is approved is shown first
        rows.move_to_key(unseen or (self.taken[0].id if self.taken else ""))
        rows.focus()
        self.call_after_refresh(rows.show_top)  # it was three rows high until now

    # What is shown

    def _show(self) -> None:
        self.query_one("#question", PieceLines).show(self._question)
        self.query_one("#notes", PieceLines).show(self._notes)
        self.query_one("#answer", PieceLines).show(self._answer)
        deciding = self._stage in ("working", "done")
        self.set_class(deciding, "-deciding")
        if deciding:
            results = self.query_one(Page)
            results.redraw()
            results.focus()
            results.styles.height = self._height(len(results.lines))
            return
        rows, listed = self._rows(), self.query_one(RowList)
        listed.set_rows(rows)
        listed.styles.height = self._height(len(rows))

    def _height(self, count: int) -> int:
        return max(1, min(count, max(3, self.size.height - 12)))

    @property
    def _verb(self) -> str:
        return "approve" if self._kind is DecisionKind.APPROVE else "reject"

    def _question(self, width: int) -> list[list[Piece]]:
        if self._stage == "reading":
            return [[(f"{self._verb.capitalize()} …", "strong")], []]
        count = len(self.taken)
        if self._stage == "working":
            return [[(f"{len(self._outcomes)} of {plural(count, 'proposal')} …", "strong")], []]
        if self._stage == "done":
            done = "landed" if self._kind is DecisionKind.APPROVE else "rejected"
            how = Counter(told.level for told in self._outcomes.values())
            said = [f"{how['information']} {done}"]
            said += [f"{how['warning']} approved, to land after tests"] if how["warning"] else []
            said += [f"{how['error']} not {done}"] if how["error"] else []
            return [[(", ".join(said), "strong")], []]
        per = Counter(candidate.project for candidate in self.taken)
        end = " · ".join(f"{clip(name, 20)} {n}" for name, n in per.items())
        unseen = sum(candidate.left_out == NOT_SEEN for candidate in self.left_out)
        none = f"You have not looked at {unseen} yet." if unseen else f"Nothing to {self._verb} here."
        head = f"{self._verb.capitalize()} {plural(count, 'proposal')}?" if count else none
        room = width - len(head) - 3
        return [justified([(head, "strong")], [(clip(end, room), "muted")] if room > 8 else [], width), []]

    def _rows(self) -> list[BatchLine]:
        rows: list[BatchLine] = []
        by_project: dict[str, list[Candidate]] = {}
        for candidate in self.taken:
            by_project.setdefault(candidate.project, []).append(candidate)
        for project, group in by_project.items():
            goes = self._facts.destinations.get(project, "") if self._kind is DecisionKind.APPROVE else ""
            rows.append(BatchLine(f"={project}", project, f"→ {goes}" if goes else ""))
            rows += [BatchLine(candidate.id, candidate=candidate) for candidate in group]
        if self.left_out:
            rows.append(BatchLine("=left", "LEFT OUT", str(len(self.left_out))))
            rows += [BatchLine(candidate.id, candidate=candidate) for candidate in self.left_out]
        return rows

    def _results(self, width: int) -> list[Line]:
        """What became of each, so far."""
        lines: list[Line] = []
        for one in self._facts.candidates:
            if told := self._outcomes.get(one.id):
                head = [
                    (fit(one.id, 6), "accent"),
                    (fit(clip(one.project, 16), 18), "muted"),
                    _OUTCOMES[told.level],
                ]
                lines += wrapped([(safe_line(told.text), "")], width, head, " " * length(head))
        return lines

    def _notes(self, width: int) -> list[list[Piece]]:
        if self._stage == "done":
            hints = dict.fromkeys(told.hint for told in self._outcomes.values() if told.hint)
            return [[], *([(hint, "muted")] for hint in hints)] if hints else []
        if self._stage != "asking":
            return []
        lines: list[list[Piece]] = []
        keys = self.app.keymap
        if any(candidate.left_out == NOT_SEEN for candidate in self.left_out):
            one, every = keys.shown("batch.add"), keys.shown("batch.include_all")
            lines.append([(f"not seen: {one} includes one, {every} includes all of them", "warn")])
        if any(candidate.mark is Kind.OVERLAP for candidate in self.left_out):
            key = keys.shown("review.approve")
            words = f"overlaps: approve one separately ({key}); the other is then written again on top of it"
            lines.append([(words, "warn")])
        if self._kind is DecisionKind.APPROVE:
            going = {candidate.project for candidate in self.taken}
            lines += [
                [(f"Hooks exist in {name} ({', '.join(hooks)}): they will not run.", "muted")]
                for name, hooks in self._facts.hooks.items()
                if name in going
            ][:3]
            problems = [f"{name}: {why}" for name, why in self._facts.problems.items() if name in going]
            for problem in problems[:3]:
                first, *more = textwrap.wrap(problem, max(20, width - 2), break_on_hyphens=False) or [""]
                lines += [[("⚠ ", "bad"), (first, "")], *([(f"  {line}", "")] for line in more)]
        return [[], *lines] if lines else []

    def _answer(self, width: int) -> list[list[Piece]]:
        keys = self.app.keymap
        leave = f"{keys.shown('dialog.cancel')} cancel     {keys.shown('dialog.help')} help"
        if self._stage == "done":
            return [[], [(f"{keys.shown('dialog.confirm')} back", "accent")]]
        if self._stage in ("reading", "working"):
            return [[], [("working …", "muted")]]
        if not self.taken:
            return [[], [(leave, "accent")]]
        yes = f"{keys.shown('dialog.confirm')} {self._verb} {len(self.taken)}"
        return [[], [(yes, "accent" if self.ready else "faint"), (f"     {leave}", "muted")]]

    def armed(self) -> None:
        """Show that keys answer now."""
        self.query_one("#answer", PieceLines).refresh()

    # Keys

    def _include(self, ids: Collection[str], included: bool) -> None:
        held = tuple(
            replace(one, included=included) if one.id in ids else one for one in self._facts.candidates
        )
        self._facts = replace(self._facts, candidates=held)
        self._show()
        following = next((c for c in self._facts.candidates if c.left_out == NOT_SEEN), None)
        if following is not None:
            self.query_one(RowList).move_to_key(following.id)

    @property
    def _current(self) -> Candidate | None:
        row = self.query_one(RowList).current
        return row.candidate if row is not None and self._stage == "asking" else None

    def action_add(self) -> None:
        """Include the one under the cursor though it was not seen, or leave it out again."""
        candidate = self._current
        if candidate is None or candidate.reason or candidate.seen or not self.ready:
            return
        self._include([candidate.id], not candidate.included)

    def action_include_all(self) -> None:
        """Include every one that is only left out because it was not seen."""
        if self._stage == "asking" and self.ready:
            self._include([candidate.id for candidate in self._facts.candidates], True)

    def accept(self) -> None:
        """Decide, then say what became of each."""
        if self._stage == "done":
            self.dismiss(tuple(self._outcomes))
        elif self._stage == "asking" and self.taken:
            self._stage = "working"
            self._decide(self.taken)

    def action_cancel(self) -> None:
        """Leave everything as it is, or the summary."""
        if self._stage == "done":
            self.dismiss(tuple(self._outcomes))
        elif self._stage != "working":
            self.dismiss(None)

    @work(exclusive=True)
    async def _decide(self, taken: Sequence[Candidate]) -> None:
        self._show()
        for candidate in taken:
            pinned = (Pinned(id=candidate.id, tree=candidate.tree),)
            try:
                verb: type[Decide] = Approve if self._kind is DecisionKind.APPROVE else Reject
                told = await send(self.app, verb(proposals=pinned))
            except NavigatorError as error:
                self.app.toast(str(error), "error")
                break
            self._outcomes |= {one.id: one for one in told}
            self._show()
        if self._kind is DecisionKind.APPROVE:
            made = (name for name, told in self._outcomes.items() if told.level != "error")
            self.app.last_decided = tuple(made) or self.app.last_decided
        self._stage = "done" if self._outcomes else "asking"
        self._show()


_OUTCOMES: dict[Level, Piece] = {
    "information": ("✓ ", "good"),
    "warning": ("▸ ", "accent"),
    "error": ("⚠ ", "warn"),
}


def _draw(row: BatchLine, width: int) -> list[Piece]:
    candidate = row.candidate
    if candidate is None:
        return justified([(row.text, "heading")], [(row.end, "muted")], width)
    head: list[Piece] = [(fit(candidate.id, 6), "accent" if not candidate.left_out else "muted")]
    figures = f"+{candidate.added} −{candidate.removed}"
    if candidate.left_out:
        about = [
            *head,
            (fit(candidate.project, 16 if width >= 84 else 10), "muted"),
            (f" {safe_line(candidate.title)}", "muted"),
        ]
        room = max(16, width // 2, width - length(about) - 2)
        return justified(about, [(clip(candidate.left_out, room), "warn")], width)
    marked: list[Piece] = [("not seen  ", "warn")] if not candidate.seen else []
    about = [*head, (safe_line(candidate.title), "")]
    return justified(about, [*marked, (figures, "muted")], width)


def candidates(
    reader: Reader, kind: DecisionKind, pairs: Sequence[tuple[str, str]]
) -> tuple[list[Candidate], list[Proposal]]:
    """Each proposal of the request, as it is now. Runs in a thread."""
    proposals = [reader.proposal(identifier) for identifier, _ in pairs]
    found = []
    known = facts_of(reader, [identifier for identifier, _ in pairs])
    for proposal, of, (_, tree) in zip(proposals, known, pairs, strict=True):
        reason, mark = _reason(reader, kind, proposal, of, tree)
        about = (proposal.id, tree, proposal.project, proposal.title, reason, proposal.seen)
        found.append(Candidate(*about, added=proposal.added, removed=proposal.removed, mark=mark))
    return found, proposals


def _reason(
    reader: Reader, kind: DecisionKind, proposal: Proposal, of: Card, tree: str
) -> tuple[str, Kind | None]:
    verb: type[Decide] = Approve if kind is DecisionKind.APPROVE else Reject
    on = read_card(reader, proposal.id)
    refusal = verb.refuse_one(on) or refusal_of(lambda: require_tree(proposal, tree))
    if refusal is not None:
        return refusal.message.removeprefix(f"{proposal.id} ").rstrip("."), None
    # One that is approved already was looked at: only its landing is tried again.
    mark = left_out(of, unseen=True) if kind is DecisionKind.APPROVE and on.to_decide else None
    return (mark.words, mark.kind) if mark else ("", None)


def batch_facts(reader: Reader, kind: DecisionKind, pairs: Sequence[tuple[str, str]]) -> BatchFacts:
    """The candidates, where each project's approvals go, and which hooks it has. Reads the repositories, in a thread."""
    from navigator.git.facts import read_facts
    from navigator.landing.plan import why_nobody

    found, proposals = candidates(reader, kind, pairs)
    destinations: dict[str, str] = {}
    hooks: dict[str, tuple[str, ...]] = {}
    problems: dict[str, str] = {}
    batches: dict[int, dict[str, None]] = {}
    for proposal in proposals:
        batches.setdefault(proposal.project_id, {})[proposal.batch] = None
    for identifier, names in batches.items():
        project = reader.project(identifier)
        try:
            facts = read_facts(project.path)
        except NavigatorError as error:
            problems[project.name] = str(error)
            continue
        goes = dict.fromkeys(destination(project, batch, facts) for batch in names)
        destinations[project.name] = ", ".join(goes)
        if facts.hooks:
            hooks[project.name] = facts.hooks
        if why := why_nobody(facts):
            problems[project.name] = why
    return BatchFacts(tuple(found), destinations, hooks, problems)
