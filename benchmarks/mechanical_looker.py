"""Two lookers without a model. Both ask only for names and paths that occur in the task or in what they were shown.

  blind       chooses by the task's words and the order of the first prompt: definitions of the names in the task, uses of its
              rarest words, the rest of the files that are shown in part, the tests that belong to them
  directed    knows which lines have to be changed: it asks for a file or a definition where a path or a name in sight leads
              there, and for lines by their numbers where lines of that file were shown. It is a bound for what looking can
              reach, and says nothing of how well a model chooses

They have the turns, the requests and the tokens that a writer has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from navigator.context.build import Context, read_visible
from navigator.context.looker import Looker
from navigator.context.looks import MOST_REQUESTS, LookAnswer
from navigator.context.relevance import GENERATED, TaskTerms, read_task
from navigator.context.repomap import RepoMap
from navigator.context.tags import WORD, count_parts, parts
from navigator.model import patterns
from navigator.model.states import LookOutcome

Places = Mapping[str, Sequence[tuple[int, int]]]
"""path -> the lines that the change replaces, 1-based and inclusive."""

TURNS = 6
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_RAREST = 4
_SHARED_BY = 0.02
"""A word that more than this share of the files holds says nothing of where."""

_MOST_USERS = 12
_LONGEST = 150
_READS = 2
_READ_AT_ONCE = 3
_SEARCHED = 2
_LISTED = 3
_MARGIN = 10


def path_parts(path: str) -> tuple[str, ...]:
    """The stems in a path, once each; its extension is none of them."""
    bare = path.rsplit(".", 1)[0] if "." in path.rsplit("/", 1)[-1][1:] else path
    found: dict[str, None] = {}
    for word in patterns.findall(r"[A-Za-z0-9_]+", bare):
        found.update(dict.fromkeys(parts(word)))
    return tuple(found)


class Sight:
    """What stands in a conversation so far."""

    def __init__(self, task: str, context: Context) -> None:
        conventions = context.conventions.text if context.conventions else ""
        pieces = [f"{piece.path}\n{piece.text}" for piece in (*context.files, *context.excerpts)]
        self.first = list(dict.fromkeys(piece.path for piece in (*context.files, *context.excerpts)))
        self.text = "\n".join([task, conventions, context.tree, context.map, context.nearby, *pieces])
        self.words = set(_WORD.findall(self.text))

    def add(self, answers: Iterable[LookAnswer]) -> None:
        """More was shown."""
        for answer in answers:
            text = "\n".join(
                [answer.asked, answer.note, *(f"{piece.path}\n{piece.text}" for piece in answer.pieces)]
            )
            self.text += f"\n{text}"
            self.words.update(_WORD.findall(text))

    def has_path(self, path: str) -> bool:
        """Whether the whole path is written somewhere."""
        return path in self.text


def look(looker: Looker, sight: Sight, choose: Callable[[set[str]], list[str]]) -> int:
    """Look until the turns, the tokens or the ideas are used up; how many turns it took."""
    asked: set[str] = set()
    for turn in range(TURNS):
        requests = [request for request in choose(asked) if request not in asked][:MOST_REQUESTS]
        if not requests:
            return turn
        asked.update(requests)
        answers = looker.answer(requests)
        sight.add(answers)
        if all(answer.outcome is LookOutcome.NO_ROOM for answer in answers):
            return turn
    return TURNS


def blind(repo: RepoMap, task: str, looker: Looker, sight: Sight) -> int:
    """By the task's words and the order in which the first prompt shows files.

    First the task's names and rarest words, and what is in the folders of the first files; then the rest of the files that are
    shown in part; then as the task's words say.
    """
    query = read_task(task, repo.number)
    spread = _spread(repo, query)
    explore = _explorer(repo, task, looker, sight)
    folders = list(dict.fromkeys(path.rpartition("/")[0] for path in sight.first if "/" in path))[:_LISTED]

    def choose(asked: set[str]) -> list[str]:
        if not asked:
            names = [*_definitions(repo, query), *_searches(repo, query, spread)[:_SEARCHED]]
            opening = [*names, *(f"list {folder}" for folder in folders)]
            if opening:
                return opening[:MOST_REQUESTS]
        rest = [
            look
            for path in sight.first
            if not looker.seen_whole(path) and (look := f"read {path}") not in asked
        ]
        return rest[:_READ_AT_ONCE] or explore(asked)

    return look(looker, sight, choose)


def _spread(repo: RepoMap, query: TaskTerms) -> dict[str, int]:
    """How many files hold each of the task's stems."""
    return {stem: sum(stem in file.terms for file in repo.files) for stem in query.stems}


def _explorer(repo: RepoMap, task: str, looker: Looker, sight: Sight) -> Callable[[set[str]], list[str]]:
    query = read_task(task, repo.number)
    spread = _spread(repo, query)
    telling = {
        stem: weight * math.log(1 + len(repo.files) / spread[stem])
        for stem, weight in query.stems.items()
        if spread[stem]
    }

    def choose(asked: set[str]) -> list[str]:
        opening = [*_definitions(repo, query), *_searches(repo, query, spread)]
        fresh = [request for request in opening if request not in asked]
        return fresh or _paths(repo, looker, sight, telling, asked)

    return choose


def _definitions(repo: RepoMap, query: TaskTerms) -> list[str]:
    known = [name for name in query.names if 0 < len(repo.graph.defined_in.get(name, ())) <= 3]
    return [f"definition {name}" for name in known[:_RAREST]]


def _searches(repo: RepoMap, query: TaskTerms, spread: Mapping[str, int]) -> list[str]:
    most = max(3, int(len(repo.files) * _SHARED_BY))
    rare = sorted((stem for stem in query.stems if 0 < spread[stem] <= most), key=lambda stem: spread[stem])
    words = dict.fromkeys(query.words[stem] for stem in rare)
    return [f"uses {word}" for word in words][:_RAREST]


def _paths(
    repo: RepoMap, looker: Looker, sight: Sight, telling: Mapping[str, float], asked: set[str]
) -> list[str]:
    """Definitions and files in sight that share most with the task, and are not shown; then the folders that do."""
    files: list[tuple[float, str]] = []
    names: dict[str, float] = {}
    for file in repo.files:
        if file.withheld or GENERATED.search(file.path) or not sight.has_path(file.path):
            continue
        stems = {*path_parts(file.path), *count_parts((d.name, 1) for d in file.definitions)}
        score = sum(weight for stem, weight in telling.items() if stem in stems)
        score += sum(weight * 0.5 for stem, weight in telling.items() if stem in file.terms)
        # What is shown in part already was thought to matter.
        score *= 1.5 if file.path in looker.shown else 1.0
        files.append((score / (1 + math.log1p(file.lines / 400)), file.path))
        for definition in file.definitions:
            said = sum(telling.get(stem, 0.0) for stem in parts(definition.name))
            short = definition.last - definition.first < _LONGEST
            shown = looker.shown.has(file.path, definition.first, definition.last)
            if said and short and not shown and definition.name in sight.words:
                names[definition.name] = max(names.get(definition.name, 0.0), said + 0.3 * score)
    files.sort(key=lambda entry: (-entry[0], entry[1]))
    wanted = [f"read {path}" for score, path in files if score > 0 and f"read {path}" not in asked][:_READS]
    ordered = sorted(names, key=lambda name: (-names[name], name))
    wanted += [look for name in ordered if (look := f"definition {name}") not in asked][
        : MOST_REQUESTS - _READS
    ]
    return wanted or _folders(sight, telling, asked)


def _folders(sight: Sight, telling: Mapping[str, float], asked: set[str]) -> list[str]:
    """The folders in sight whose names share most with the task."""
    folders = set(re.findall(r"^(\S+)/ \(\d+ files\)$", sight.text, re.MULTILINE))
    scored = [(sum(telling.get(stem, 0.0) for stem in path_parts(folder)), folder) for folder in folders]
    best = sorted((entry for entry in scored if entry[0] > 0), key=lambda entry: (-entry[0], entry[1]))
    return [look for _, folder in best if (look := f"list {folder}") not in asked][:2]


def directed(repo: RepoMap, task: str, places: Places, looker: Looker, sight: Sight) -> int:
    """By the lines that have to be changed, through names in sight; by the task's words where none leads there."""
    explore = _explorer(repo, task, looker, sight)

    def choose(asked: set[str]) -> list[str]:
        found: dict[str, None] = {}
        for path, ranges in places.items():
            missing = [(a, b) for a, b in ranges if not looker.shown.has(path, a, b)]
            if missing and path in looker.shown:
                found |= dict.fromkeys(_lines(path, missing))
                continue
            for first, last in missing:
                request = _way_to(repo, path, first, last, sight, asked)
                found |= {request: None} if request else dict.fromkeys(explore(asked)[:_READS])
        return [request for request in found if request not in asked]

    return look(looker, sight, choose)


def _lines(path: str, places: Iterable[tuple[int, int]]) -> list[str]:
    """Reads of the lines around places of a file of which numbered lines were shown; places that are near are read at once."""
    near: list[tuple[int, int]] = []
    for first, last in sorted(places):
        low, high = max(1, first - _MARGIN), last + _MARGIN
        if near and low <= near[-1][1] + _MARGIN:
            low, high = near.pop()[0], max(high, near[-1][1] if near else 0)
        near.append((low, high))
    return [f"read {path}:{low}-{high}" for low, high in near]


def _way_to(repo: RepoMap, path: str, first: int, last: int, sight: Sight, asked: set[str]) -> str:
    """A request that may show something of a file, made of a name or a path in sight; "" where none is."""
    number = repo.number.get(path)
    if number is None or repo.files[number].withheld:
        return ""
    file = repo.files[number]
    around = [d for d in file.definitions if d.first - 3 <= first and last <= d.last + 2]
    ways = []
    # The innermost definition comes last, and is the shortest.
    for definition in reversed(around):
        few = len(repo.graph.defined_in.get(definition.name, ())) <= 6
        if definition.name in sight.words and few and definition.last - definition.first < 250:
            ways.append(f"definition {definition.name}")
    if sight.has_path(path):
        ways.append(f"read {path}")
    text = read_visible(repo.source, path)[0] or ""
    line = "\n".join(text.split("\n")[first - 1 : last])
    folder = path.rpartition("/")[0]
    while folder and not ways:
        if folder in sight.text:
            ways.append(f"list {folder}")
        folder = folder.rpartition("/")[0]
    for name in dict.fromkeys(WORD.findall(line)):
        users = sum(name in other.refs for other in repo.files) if name in sight.words else 0
        if 0 < users <= _MOST_USERS:
            ways.append(f"uses {name}")
    return next((way for way in ways if way not in asked), "")
