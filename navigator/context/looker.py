"""Answers a model's looks from the pinned base, within its tokens, through the same rules as every other part of a prompt.

The same looks in the same order get the same answers: after a restart a conversation is made again from the looks alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from navigator.context.build import Context, read_visible
from navigator.context.files import Definition, MapFile
from navigator.context.looks import (
    DELIMITERS,
    MOST_REQUESTS,
    Lines,
    LookAnswer,
    LookPiece,
    LookRequest,
    NotARequest,
    ShownSoFar,
    alike,
    cut_to,
    draw_matches,
    entries_of,
    pieces_of,
    read_requests,
)
from navigator.context.pack import MAX_FILE_BYTES, Count, lines_of, outline
from navigator.context.relevance import GENERATED, rank_files, read_task
from navigator.context.repomap import RepoMap
from navigator.context.scope import fits
from navigator.model import patterns
from navigator.model.errors import NavigatorError
from navigator.model.states import LookKind, LookOutcome
from navigator.model.text import plural
from navigator.process.bounded import WorkerLost, run_bounded

LEAST_ROOM = 150
"""Tokens; with less left nothing more is shown."""

REQUEST_SHARE = 0.3
"""Share of all tokens for looking that one request may take, while others may still come."""

SEARCH_SHARE = 0.1
"""Share of all tokens for looking that a search may take: it tells where, and the lines that matter are asked for."""

OVERSIZED_FILE_SHARE = 0.15
"""Share of the budget for a file that does not fit whole: its outline and first lines; the model asks for the rest."""

MOST_BYTES = 4_000_000
"""Of a file of which lines are read. The first prompt, and searches, leave out files far smaller than that."""

_SEARCHED_BYTES = 16 << 20
_MOST_LISTED = 150
_MOST_DEFINERS = 6
_LINES_ABOVE = 4
_LINES_BELOW = 2
_MOST_ALIKE = 5


class Looker:
    """One conversation's looks.

    Args:
        repo_map: the base's map.
        task_text: what is to be done: files that matter to it come first.
        named: the files that the task names.
        context: what the first prompt shows.
        budget: tokens for all looks together; `allow` says so again.
        count: tokens of a text.
    """

    def __init__(
        self,
        repo_map: RepoMap,
        task_text: str,
        named: Sequence[str],
        context: Context,
        budget: int,
        count: Count,
    ) -> None:
        self._repo_map, self._source, self._count = repo_map, repo_map.source, count
        self._task_text, self._named = task_text, named
        self.used = 0
        self.allow(budget)
        self.shown = ShownSoFar()
        self._asked: set[LookRequest] = set()
        for file in (*context.files, *context.excerpts, *filter(None, (context.conventions,))):
            self.shown.add(file.path, file.first, file.first + len(lines_of(file.text)) - 1)

    @property
    def left(self) -> int:
        """Tokens that are left."""
        return max(0, self._end - self.used)

    def allow(self, tokens: int) -> None:
        """Let the looks to come take so many tokens."""
        self._budget = tokens
        self._end = self.used + tokens

    def seen_whole(self, path: str) -> bool:
        """Whether every line of a file was shown. Reads git: call it in a thread."""
        text, _ = read_visible(self._source, path) if path in self.shown else (None, "")
        return text is not None and self.shown.has(path, 1, len(lines_of(text)))

    def answer(self, lines: Sequence[str]) -> list[LookAnswer]:
        """Answer the requests of one LOOK block. Runs git and other processes: call it in a thread."""
        requests = read_requests(lines)
        answers = []
        for place, request in enumerate(requests[:MOST_REQUESTS]):
            share = self.left // (min(len(requests), MOST_REQUESTS) - place)
            answers.append(self._one(request, min(self.left, max(share, int(self._budget * REQUEST_SHARE)))))
            self.used += answers[-1].tokens
        rest = len(requests) - MOST_REQUESTS
        if rest > 0:
            note = f"{rest} more requests were not read: at most {MOST_REQUESTS} at a time."
            answers.append(LookAnswer("", "", LookOutcome.REFUSED, note))
        return answers

    def _one(self, request: LookRequest | NotARequest, room: int) -> LookAnswer:
        if isinstance(request, NotARequest):
            return LookAnswer(request.line, "", LookOutcome.REFUSED, request.problem)
        if request in self._asked:
            return self._said(request, LookOutcome.REPEATED, "it was answered above; the files are the same.")
        if room < LEAST_ROOM:
            return self._said(request, LookOutcome.NO_ROOM, "the tokens for looking are used up.")
        self._asked.add(request)
        answers: Mapping[LookKind, Callable[[LookRequest, int], LookAnswer]] = {
            LookKind.READ: self._read,
            LookKind.SEARCH: self._search,
            LookKind.LIST: self._list,
            LookKind.DEFINITION: self._definition,
            LookKind.USES: self._uses,
        }
        return answers[request.kind](request, room)

    def _at_most(self, share: float) -> int:
        """Tokens that one request may take, at least enough for something to be shown."""
        return max(LEAST_ROOM, int(self._budget * share))

    def _said(self, request: LookRequest, outcome: LookOutcome, note: str) -> LookAnswer:
        return LookAnswer(str(request), request.kind.value, outcome, note)

    def _showing(
        self, request: LookRequest, pieces: Sequence[LookPiece], note: str = "", *, cut: bool = False
    ) -> LookAnswer:
        """An answer that shows something: counts it, and remembers the lines."""
        for piece in pieces:
            for path, first, last in piece.lines:
                self.shown.add(path, first, last)
        paths = tuple(dict.fromkeys(path for piece in pieces for path, _, _ in piece.lines))
        return LookAnswer(
            str(request),
            request.kind.value,
            LookOutcome.CUT if cut else LookOutcome.SHOWN,
            note,
            tuple(pieces),
            paths,
            sum(self._count(piece.text) + DELIMITERS for piece in pieces),
        )

    @cached_property
    def _rank(self) -> dict[str, int]:
        """path -> its place for this task; files that have nothing to do with it are missing."""
        query = read_task(self._task_text, self._repo_map.number)
        order = rank_files(self._repo_map, query, self._named).order()
        return {self._repo_map.files[number].path: place for place, number in enumerate(order)}

    def _by_rank(self, path: str) -> tuple[bool, int, str]:
        return bool(GENERATED.search(path)), self._rank.get(path, len(self._repo_map.files)), path

    def _file(self, path: str) -> MapFile | None:
        number = self._repo_map.number.get(path)
        return self._repo_map.files[number] if number is not None else None

    # read PATH

    def _read(self, request: LookRequest, room: int) -> LookAnswer:
        path = request.target
        if self._source.mode(path) == "040000" or not path:
            return self._list(request, room)
        text, reason = read_visible(self._source, path, MOST_BYTES)
        if text is None:
            near = self._alike(path) if self._source.mode(path) is None else ""
            return self._said(request, LookOutcome.REFUSED, f"it is not shown: {reason}.{near}")
        lines = lines_of(text)
        if not lines:
            return self._said(request, LookOutcome.NOTHING, "the file is empty.")
        if request.first > len(lines):
            return self._said(request, LookOutcome.NOTHING, f"the file has {len(lines)} lines.")
        first, last = (request.first, min(request.last, len(lines))) if request.first else (1, len(lines))
        missing = self.shown.missing(path, first, last)
        if not missing:
            return self._said(request, LookOutcome.REPEATED, "these lines are shown above.")
        if not request.first and self._cost(lines, missing) > room:
            return self._read_parts(request, lines, missing, min(room, self._at_most(OVERSIZED_FILE_SHARE)))
        pieces, rest = pieces_of(path, lines, missing, room, self._count)
        above = "the other lines of these are shown above" if missing != [(first, last)] else ""
        cut = f"no room beyond line {rest - 1}: ask for {path}:{rest}-{last}" if rest else ""
        note = "; ".join(part for part in (above, cut) if part)
        return self._showing(request, pieces, note, cut=bool(rest))

    def _cost(self, lines: Sequence[str], ranges: Sequence[Lines]) -> int:
        """What lines of a file take."""
        return sum(self._count("\n".join(lines[a - 1 : b]) + "\n") + DELIMITERS for a, b in ranges)

    def _read_parts(
        self, request: LookRequest, lines: Sequence[str], missing: Sequence[Lines], room: int
    ) -> LookAnswer:
        """A file that does not fit: what it defines, and its first lines that were not shown."""
        path = request.target
        file = self._file(path)
        drawn, tokens = outline([file], room // 3, self._count) if file else ("", 0)
        pieces = [LookPiece(drawn)] if drawn else []
        pieces += pieces_of(path, lines, missing, room - tokens - DELIMITERS, self._count)[0]
        note = f"it has {len(lines)} lines, more than fit; ask for the lines you need: read {path}:FIRST-LAST"
        return self._showing(request, pieces, note, cut=True)

    def _alike(self, path: str) -> str:
        """Paths that the model may have meant."""
        same = alike(path, self._source.paths())
        listed = ", ".join(sorted(same, key=self._by_rank)[:_MOST_ALIKE])
        return f" There is: {listed}." if listed else ""

    # list FOLDER

    def _list(self, request: LookRequest, room: int) -> LookAnswer:
        entries = entries_of(request.target, self._source.paths())
        if not entries:
            near = self._alike(request.target)
            return self._said(request, LookOutcome.NOTHING, f"there is no folder of this name.{near}")
        text, rest = cut_to(entries[:_MOST_LISTED], room, self._count)
        left = len(entries) - text.count("\n")
        note = f"{left} more are not listed" if left else ""
        return self._showing(request, [LookPiece(text)], note, cut=bool(left or rest))

    # definition NAME

    def _definition(self, request: LookRequest, room: int) -> LookAnswer:
        found = self._definers(request.target)
        if not found:
            return self._said(
                request,
                LookOutcome.NOTHING,
                "no definition of this name is known; `uses` finds the word itself.",
            )
        pieces: list[LookPiece] = []
        notes: list[str] = []
        above, more = 0, []
        for path, definition in found:
            left = room - sum(self._count(piece.text) + DELIMITERS for piece in pieces)
            if len(pieces) >= _MOST_DEFINERS or left < LEAST_ROOM:
                more.append(f"{path}:{definition.first} {definition.signature.strip()}")
                continue
            text, _ = read_visible(self._source, path)
            if text is None:
                continue
            lines = lines_of(text)
            first = max(1, definition.first - _LINES_ABOVE)
            last = min(len(lines), definition.last + _LINES_BELOW)
            missing = self.shown.missing(path, first, last)
            above += not missing
            shown, rest = pieces_of(path, lines, missing, left, self._count)
            pieces += shown
            if rest:
                notes.append(f"no room beyond line {rest - 1} of {path}: ask for {path}:{rest}-{last}")
        if above:
            notes.append("it is shown above" if not pieces else f"{above} more shown above")
        if more:
            notes.append(f"also defined at {'; '.join(more[:_MOST_DEFINERS])}")
        if not pieces:
            outcome = LookOutcome.REPEATED if above else LookOutcome.NOTHING
            return self._said(request, outcome, "; ".join(notes) or "it is in no file that may be shown")
        return self._showing(request, pieces, "; ".join(notes), cut=bool(more))

    def _definers(self, name: str) -> list[tuple[str, Definition]]:
        """Where a name is defined, `Class.method` within its class where that is known; the files that matter most first."""
        *outer, last = [part for part in name.replace("::", ".").replace("#", ".").split(".") if part] or [
            name
        ]
        found: list[tuple[str, Definition]] = []
        within: list[tuple[str, Definition]] = []
        for number in self._repo_map.graph.defined_in.get(last, ()):
            file = self._repo_map.files[number]
            around = [d for d in file.definitions if outer and d.name == outer[-1]]
            for definition in file.definitions:
                if definition.name == last:
                    found.append((file.path, definition))
                    if any(d.first <= definition.first and definition.last <= d.last for d in around):
                        within.append((file.path, definition))
        return sorted(within or found, key=lambda entry: (self._by_rank(entry[0]), entry[1].first))

    # search REGEX, uses NAME

    def _search(self, request: LookRequest, room: int) -> LookAnswer:
        return self._match(request, request.target, "", request.glob, room)

    def _uses(self, request: LookRequest, room: int) -> LookAnswer:
        name = request.target.replace("::", ".").rsplit(".", 1)[-1]
        return self._match(request, rf"(?:^|\W){patterns.escape(name)}(?:\W|$)", name, "", room)

    def _match(self, request: LookRequest, expression: str, literal: str, glob: str, room: int) -> LookAnswer:
        room = min(room, self._at_most(SEARCH_SHARE))
        candidates = self._candidates(literal, glob)
        texts: dict[str, str] = {}
        size, unread = 0, 0
        self._source.prefetch(candidates)
        for path in candidates:
            if size >= _SEARCHED_BYTES:
                unread += 1
                continue
            text, _ = read_visible(self._source, path)
            if text is not None:
                texts[path] = text
                size += len(text)
        try:
            found = matching_lines(expression, list(texts.values()))
        except BadExpression as error:
            return self._said(request, LookOutcome.REFUSED, str(error))
        except WorkerLost:
            return self._said(request, LookOutcome.REFUSED, "the search took too long; make it simpler.")
        hits = {path: numbers for path, numbers in zip(texts, found, strict=True) if numbers}
        skipped = f"; {unread} files were not searched: narrow it with a GLOB" if unread else ""
        if not hits:
            return self._said(request, LookOutcome.NOTHING, f"no line has it{skipped}.")
        of_lines = {path: (lines_of(texts[path]), numbers) for path, numbers in hits.items()}
        piece, left = draw_matches(of_lines, self.shown, room, self._count)
        total = sum(len(numbers) for numbers in hits.values())
        more = f", {left} of the files not shown: narrow it with a GLOB" if left else ""
        note = f"{plural(total, 'line')} in {plural(len(hits), 'file')}{more}{skipped}"
        return self._showing(request, [piece], note, cut=bool(left or unread))

    def _candidates(self, literal: str, glob: str) -> list[str]:
        """The files to search, those that matter to the task first; what programs write only where the glob asks for it."""
        files = [file for file in self._repo_map.files if not file.withheld and file.size <= MAX_FILE_BYTES]
        paths = [file.path for file in files if not glob or fits(file.path, (glob,))]
        if not glob:
            paths = [path for path in paths if not GENERATED.search(path)]
        if literal:
            holding = self._source.containing(literal)
            paths = [path for path in paths if path in holding]
        return sorted(paths, key=self._by_rank)


# Runs a model's regular expression in a worker process, so that its time can be limited.

SECONDS = 3.0
"""Processor time of one search."""

_LONGEST_LINE = 2_000
_MOST_HITS = 2_000


class BadExpression(NavigatorError):
    """A model's search is no regular expression."""

    code = "bad_expression"


def matching_lines(expression: str, texts: Sequence[str]) -> list[list[int]]:
    """The numbers (from 1) of the lines of each text in which the expression is found; 2,000 in all at most.

    Raises:
        BadExpression: it is no regular expression.
        WorkerLost: it takes too long.
    """
    return run_bounded(_match_lines, expression, list(texts), seconds=SECONDS)


def _match_lines(expression: str, texts: list[str]) -> list[list[int]]:
    """What `matching_lines` does, in the process that may be ended."""
    try:
        pattern = patterns.compile(expression).check()
    except patterns.PatternError as error:
        raise BadExpression(str(error)) from None
    left = _MOST_HITS
    found: list[list[int]] = []
    for text in texts:
        hits = []
        for number, line in enumerate(text.split("\n"), 1):
            if left and pattern.search(line[:_LONGEST_LINE]):
                hits.append(number)
                left -= 1
        found.append(hits)
    return found
