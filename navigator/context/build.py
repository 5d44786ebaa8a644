"""What the generator is shown of a project: what every task of a base shares, then what this task is about.

The shared part (conventions, list of files, map of what others lean on) depends on the base and the budget alone: it comes
first in the prompt and is the same to the byte for all tasks, so a server's prefix cache serves it. Then the task's own:
named files whole, the files that matter most to it whole or in parts, and a map of what is near them.

Everything is counted before it is sent. What does not fit, or must not be sent, is named with the reason, so that neither
the model nor the developer takes the part for the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from navigator.context.files import MapFile
from navigator.context.pack import (
    LEAST_SCORE,
    MAX_FILE_BYTES,
    ContextFile,
    Count,
    fit,
    fitting,
    outline,
    pack,
)
from navigator.context.relevance import Ranking, TaskTerms, rank_files, read_task
from navigator.context.repomap import RepoMap
from navigator.context.source import TreeSource
from navigator.context.tags import NOT_TEXT, why_withheld
from navigator.git.diffs import decode_lines
from navigator.model.models import Project

CONVENTIONS_SHARE = 0.2
TREE_SHARE = 0.1
MAP_SHARE = 0.08
NEARBY_SHARE = 0.08

_LEFT_OUT_SHOWN = 50
_NOT_FITTED_SHOWN = 10
_MOST_RANKED = 150


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not shown, or not whole, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Context:
    """What of a project goes into a prompt.

    Attributes:
        conventions: the project's conventions file, cut at a line where it is very long; None when there is
            none.
        tree: paths, one a line; folders with too many files are summed up as `folder/ (n files)`.
        map: what the files that others lean on define; the same for every task of this base.
        files: whole files, the most relevant first.
        excerpts: parts of files, those of one file one after the other, the most relevant file first.
        nearby: what the files next in rank define, for this task.
        left_out: what was asked for or found, and is not there; at most 50 entries.
        hidden: how many files of the base are never shown, by reason.
        shared_tokens: of conventions, tree and map.
        tree_tokens, map_tokens, nearby_tokens: of each.
        tokens: of everything above together.
        budget: the token budget.
    """

    conventions: ContextFile | None = None
    tree: str = ""
    left_out: tuple[LeftOut, ...] = ()
    tokens: int = 0
    files: tuple[ContextFile, ...] = ()
    map: str = ""
    excerpts: tuple[ContextFile, ...] = ()
    nearby: str = ""
    hidden: Mapping[str, int] = field(default_factory=dict)
    tree_tokens: int = 0
    map_tokens: int = 0
    nearby_tokens: int = 0
    shared_tokens: int = 0
    budget: int = 0

    @property
    def shown_whole(self) -> frozenset[str]:
        """The files that are shown whole."""
        return frozenset(file.path for file in self.files)


def build_context(
    repo_map: RepoMap,
    project: Project,
    task_text: str,
    files: Sequence[str],
    budget_tokens: int,
    count: Count,
    *,
    shared_budget: int,
) -> Context:
    """Choose what to show for a task, within a budget.

    Args:
        repo_map: of the pinned base.
        files: paths that the task names; those the base lacks are reported in `left_out`.
        budget_tokens: for everything here together.
        count: tokens of a text.
        shared_budget: tokens from which the sizes of the shared part are computed, so that they do not change with a task's
            length; `budget_tokens` where that is less than half of it.
    """
    fits_shared = 2 * budget_tokens >= shared_budget
    shared = _shared_context(repo_map, project, shared_budget if fits_shared else budget_tokens, count)
    left_out = list(shared.left_out)
    left = budget_tokens - shared.shared_tokens
    query = read_task(task_text, repo_map.number)
    conventions = shared.conventions.path if shared.conventions else ""
    wanted = [path for path in dict.fromkeys(files) if path != conventions]
    shown = _named_files(repo_map, wanted, query, left, count, left_out)
    ranking = rank_files(repo_map, query, files)
    best = [repo_map.files[number] for number in ranking.order(LEAST_SCORE)[:_MOST_RANKED]]
    ranked = [file for file in best if file.path not in {conventions, *wanted}]
    nearby_budget = int(budget_tokens * NEARBY_SHARE)
    spent = sum(piece.tokens for piece in shown)
    shown += _relevant(repo_map, ranking, ranked, query, left - spent - nearby_budget, count, left_out)
    taken = {piece.path for piece in shown}
    rest = [file for file in ranked if file.path not in taken]
    spent = sum(piece.tokens for piece in shown)
    nearby, nearby_tokens = outline(rest, min(nearby_budget, left - spent), count)
    no_room = [file.path for file in rest if not file.withheld][:_NOT_FITTED_SHOWN]
    left_out += [LeftOut(path, "no room left; it is next in rank") for path in no_room]
    return replace(
        shared,
        files=tuple(piece for piece in shown if piece.whole),
        excerpts=tuple(piece for piece in shown if not piece.whole),
        nearby=nearby,
        left_out=tuple(left_out[:_LEFT_OUT_SHOWN]),
        hidden=_hidden(repo_map),
        nearby_tokens=nearby_tokens,
        tokens=shared.shared_tokens + spent + nearby_tokens,
        budget=budget_tokens,
    )


def read_visible(source: TreeSource, path: str, most: int = MAX_FILE_BYTES) -> tuple[str | None, str]:
    """The text of a file as a model may see it, or None and why not. `most`: size limit in bytes.

    A text is read as UTF-8 or Latin-1, without byte order mark, with LF line endings.
    """
    if source.mode(path) is None:
        return None, "no such file in the base"
    reason = source.why_hidden(path) or ("not a plain file" if source.mode(path) == "040000" else "")
    if reason:
        return None, reason
    if source.size(path) > most:
        return None, f"{source.size(path)} bytes are too many"
    content = source.read(path) or b""
    if reason := why_withheld(content):
        return None, reason
    return decode_lines(content).removeprefix("\ufeff").replace("\r\n", "\n"), ""


def _shared_context(repo_map: RepoMap, project: Project, budget: int, count: Count) -> Context:
    """What every task of this base is shown, without what is its own."""
    left_out: list[LeftOut] = []
    conventions = _conventions(repo_map.source, project, int(budget * CONVENTIONS_SHARE), count, left_out)
    shown = [file.path for file in repo_map.files if not file.withheld or file.withheld == NOT_TEXT]
    tree, tree_tokens = _tree(shown, int(budget * TREE_SHARE), count)
    central = [
        repo_map.files[n]
        for n in sorted(range(len(repo_map.files)), key=lambda n: (-repo_map.graph.central[n], n))
    ]
    drawn, map_tokens = outline(central[:_MOST_RANKED], int(budget * MAP_SHARE), count)
    tokens = (conventions.tokens if conventions else 0) + tree_tokens + map_tokens
    return Context(
        conventions=conventions,
        tree=tree,
        map=drawn,
        left_out=tuple(left_out),
        tree_tokens=tree_tokens,
        map_tokens=map_tokens,
        shared_tokens=tokens,
        tokens=tokens,
    )


def _named_files(
    repo_map: RepoMap,
    wanted: Sequence[str],
    query: TaskTerms,
    budget: int,
    count: Count,
    left_out: list[LeftOut],
) -> list[ContextFile]:
    """The files that the task names, whole where they fit, else the parts that speak of the task."""
    repo_map.source.prefetch(path for path in wanted if not repo_map.source.why_hidden(path))
    shown: list[ContextFile] = []
    for path in wanted:
        text, reason = read_visible(repo_map.source, path)
        if text is None:
            left_out.append(LeftOut(path, reason))
            continue
        left = budget - sum(piece.tokens for piece in shown)
        tokens = count(text)
        if tokens <= left:
            shown.append(ContextFile(path, text, "named", tokens))
            continue
        number = repo_map.number.get(path)
        known = repo_map.files[number] if number is not None else MapFile(path, repo_map.source.size(path))
        parts = fit(known, text, "named", query.stems, left, left, count) if left > 0 else []
        also = "; the parts that speak of the task are shown" if parts else ""
        left_out.append(
            LeftOut(path, f"{tokens} tokens do not fit into the {max(left, 0)} that are left{also}")
        )
        shown += parts
    return shown


def _relevant(
    repo_map: RepoMap,
    ranking: Ranking,
    ranked: Sequence[MapFile],
    query: TaskTerms,
    budget: int,
    count: Count,
    left_out: list[LeftOut],
) -> list[ContextFile]:
    """The files that matter most to the task, whole or in part."""

    def read(path: str) -> str | None:
        text, reason = read_visible(repo_map.source, path)
        if reason and reason != NOT_TEXT:
            left_out.append(LeftOut(path, reason))
        return text

    plain = [file for file in ranked if not file.withheld]
    left_out += [
        LeftOut(file.path, file.withheld) for file in ranked if file.withheld and file.withheld != NOT_TEXT
    ]
    repo_map.source.prefetch(file.path for file in plain[:40])
    return pack(plain, read, lambda path: ranking.why(repo_map.number[path]), query.stems, budget, count)


def _hidden(repo_map: RepoMap) -> dict[str, int]:
    """How many files are never shown, by reason; what their content says is summed up without lines."""
    source = repo_map.source
    counts = Counter(reason for path in source.entries if (reason := source.why_hidden(path)))
    counts.update(file.withheld.partition(" (line")[0] for file in repo_map.files if file.withheld)
    return dict(sorted(counts.items()))


def _conventions(
    source: TreeSource, project: Project, budget: int, count: Count, left_out: list[LeftOut]
) -> ContextFile | None:
    """The conventions file, cut at a line when it is longer than its share."""
    path = project.conventions
    if not path or source.mode(path) is None:
        return None
    text, reason = read_visible(source, path)
    if text is None:
        left_out.append(LeftOut(path, reason))
        return None
    if not text.strip():
        return None
    tokens = count(text)
    if tokens <= budget:
        return ContextFile(path, text, "conventions", tokens)
    lines = text.splitlines(keepends=True)
    kept = fitting(lines, budget, count)
    left_out.append(LeftOut(path, f"only its first {kept} of {len(lines)} lines fit"))
    cut = "".join(lines[:kept])
    return ContextFile(path, cut, "conventions", count(cut), whole=False) if cut else None


def _tree(paths: Sequence[str], budget: int, count: Count) -> tuple[str, int]:
    """The list of files, with the deepest and fullest folders summed up until it fits."""
    lines = list(paths)
    text = "\n".join(lines)
    tokens = count(text)
    depth = max((path.count("/") for path in lines), default=0)
    while tokens > budget and depth > 0:
        text = "\n".join(_folded(lines, depth))
        tokens = count(text)
        depth -= 1
    if tokens <= budget:
        return text, tokens
    folded = text.split("\n")
    while folded and tokens > budget:
        folded = folded[: len(folded) // 2]
        text = "\n".join([*folded, "(and more)"])
        tokens = count(text)
    return (text, tokens) if tokens <= budget else ("", 0)


def _folded(paths: Sequence[str], depth: int) -> list[str]:
    """The paths, with everything below `depth` folders summed up in one line a folder."""
    lines: dict[str, int] = {}
    for path in paths:
        parts = path.split("/")
        key = path if len(parts) <= depth else "/".join(parts[:depth]) + "/"
        lines[key] = lines.get(key, 0) + 1
    return [f"{key} ({n} files)" if key.endswith("/") else key for key, n in lines.items()]
