"""What the generator is shown of a project: conventions, the list of files, and the files that the task is
about.

Everything is counted before it is sent. Files come whole or not at all, because an edit must quote them
exactly; what does not fit is named with the reason, so that neither the model nor the developer takes the
part for the whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from navigator.domain.models import Project
from navigator.workspace.central import central_files
from navigator.workspace.runner import GitError
from navigator.workspace.scope import holds_private_key, in_scope, is_secret, suffix_of
from navigator.workspace.source import TreeSource

Count = Callable[[str], int]

MAX_FILE_BYTES = 400_000
"""A larger file is never shown whole: no budget of a local model takes it."""

_CONVENTIONS_SHARE = 0.2
_TREE_SHARE = 0.15
_MAX_WORDS = 24
_MAX_FOUND = 8
_COMMON_SHARE = 0.25
_LEFT_OUT_SHOWN = 50

_GENERATED = re.compile(
    r"(?i)(?:^|/)(?:node_modules|vendor|third_party|dist|build|\.venv|__snapshots__)/"
    r"|\.min\.(?:js|css)$|\.(?:lock|map|svg|snap)$|(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum)$"
)
_QUOTED = re.compile(r"`([^`\n]{2,120})`|\"([^\"\n]{2,80})\"|'([^'\n]{2,80})'")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,60}")
_STOP_TEXT = """
    the and for with that this from into when where what which should would could must have has not are was were
    all any each one two use uses using add adds make makes new old fix file files code function method class test
    tests change changes update remove return returns value values name names line lines error errors please also
    there then than only instead need needs after before without within between does doing done can may its it's
    module package project task user users list type types string number data result results call calls
"""
_WORD_STOP = frozenset(_STOP_TEXT.split())


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file shown whole: its text with LF line endings, why it is shown ("named", "mentioned: …"), its
    tokens."""

    path: str
    text: str
    why: str
    tokens: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not shown, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Context:
    """What of a project goes into a prompt.

    Attributes:
        conventions: the project's conventions file, cut at a line where it is very long; None when there is
            none.
        tree: paths, one a line; folders with too many files are summed up as `folder/ (n files)`.
        files: whole files, the most relevant first.
        left_out: what was asked for or found, and is not there; at most 50 entries.
        tokens: of everything above together.
    """

    conventions: ContextFile | None
    tree: str
    files: tuple[ContextFile, ...]
    left_out: tuple[LeftOut, ...]
    tokens: int


def build_context(
    source: TreeSource,
    project: Project,
    task_text: str,
    files: Sequence[str],
    budget_tokens: int,
    count: Count,
) -> Context:
    """Choose what to show for a task, within a budget.

    Named files come first; conventions and the list of files may take a share each. When the task names no
    file, files whose path or content it mentions follow, the most telling first; when it mentions none, the
    files that most others speak of. Secrets are never shown nor listed.

    Args:
        source: the pinned base.
        files: paths that the task names; those the base lacks are reported in `left_out`.
        budget_tokens: for everything here together.
        count: tokens of a text.
    """
    left_out: list[LeftOut] = []
    shown: list[ContextFile] = []
    conventions = _conventions(source, project, int(budget_tokens * _CONVENTIONS_SHARE), count, left_out)
    spent = conventions.tokens if conventions is not None else 0
    source.prefetch(files)
    for path in dict.fromkeys(files):
        if conventions is not None and path == conventions.path:
            continue
        taken = _take(source, project, path, "named", budget_tokens - spent, count, left_out)
        if taken is not None:
            shown.append(taken)
            spent += taken.tokens
    tree, tree_tokens = _tree(
        source.paths(), min(int(budget_tokens * _TREE_SHARE), budget_tokens - spent), count
    )
    spent += tree_tokens
    if not files:
        known = {project.conventions}
        found = [(path, why) for path, why in _mentioned(source, task_text, left_out) if path not in known]
        if not found:
            # A model that is shown nothing can change nothing: the files that others lean on are the best guess.
            found = [(path, why) for path, why in central_files(source) if path not in known]
        source.prefetch(path for path, _ in found)
        for path, why in found:
            taken = _take(source, project, path, why, budget_tokens - spent, count, left_out)
            if taken is not None:
                shown.append(taken)
                spent += taken.tokens
    return Context(conventions, tree, tuple(shown), tuple(left_out[:_LEFT_OUT_SHOWN]), spent)


def text_of(content: bytes) -> str | None:
    """A file as a prompt shows it: UTF-8 or Latin-1, without byte order mark, LF line endings; None when
    binary."""
    if b"\0" in content:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n")


def _take(
    source: TreeSource,
    project: Project,
    path: str,
    why: str,
    budget: int,
    count: Count,
    left_out: list[LeftOut],
) -> ContextFile | None:
    """Read one file if it may be shown and fits; otherwise say why not."""
    reason = ""
    mode = source.mode(path)
    if mode is None:
        reason = "no such file in the base"
    elif mode not in {"100644", "100755"}:
        reason = "not a plain file"
    elif is_secret(path):
        reason = "may hold secrets"
    elif not in_scope(path, project):
        reason = "outside of the project's include and exclude"
    elif source.size(path) > MAX_FILE_BYTES:
        reason = f"{source.size(path)} bytes are too many"
    if reason:
        left_out.append(LeftOut(path, reason))
        return None
    content = source.read(path) or b""
    text = text_of(content)
    if text is None or holds_private_key(content):
        left_out.append(LeftOut(path, "not text" if text is None else "holds a private key"))
        return None
    tokens = count(text)
    if tokens > budget:
        left_out.append(LeftOut(path, f"{tokens} tokens do not fit into the {max(budget, 0)} that are left"))
        return None
    return ContextFile(path, text, why, tokens)


def _conventions(
    source: TreeSource, project: Project, budget: int, count: Count, left_out: list[LeftOut]
) -> ContextFile | None:
    """The conventions file, cut at a line when it is longer than its share."""
    path = project.conventions
    if not path or source.mode(path) not in {"100644", "100755"} or is_secret(path):
        return None
    text = text_of((source.read(path) or b"")[:MAX_FILE_BYTES])
    if text is None or not text.strip():
        return None
    tokens = count(text)
    if tokens <= budget:
        return ContextFile(path, text, "conventions", tokens)
    lines = text.splitlines(keepends=True)
    # The longest beginning that fits, found by halving: counting tokens is the costly part.
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count("".join(lines[:middle])) <= budget else (low, middle - 1)
    left_out.append(LeftOut(path, f"only its first {low} of {len(lines)} lines fit"))
    cut = "".join(lines[:low])
    return ContextFile(path, cut, "conventions", count(cut)) if cut else None


def _tree(paths: Iterable[str], budget: int, count: Count) -> tuple[str, int]:
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


def _words(text: str) -> list[str]:
    """Words of a task that could be names in code, the most telling first: quoted, then compound, then
    plain."""
    quoted = [word for match in _QUOTED.finditer(text) for word in match.groups() if word]
    names = [part for word in quoted for part in _IDENTIFIER.findall(word)]
    found = _IDENTIFIER.findall(text)
    compound = [word for word in found if "_" in word or re.search(r"[a-z0-9][A-Z]", word)]
    plain = [word for word in found if len(word) > 3]
    every = dict.fromkeys(names + compound + plain)
    return [word for word in every if word.lower() not in _WORD_STOP][:_MAX_WORDS]


def _mentioned(source: TreeSource, text: str, left_out: list[LeftOut]) -> list[tuple[str, str]]:
    """Files whose path or content a task mentions, best first, with the reason."""
    paths = source.paths()
    scores: dict[str, float] = {}
    reasons: dict[str, str] = {}
    lowered = text.casefold()
    for path in paths:
        name = path.rsplit("/", 1)[-1]
        if path.casefold() in lowered:
            scores[path], reasons[path] = 100.0, "its path is in the task"
        elif (
            len(name) > 4
            and "." in name
            and re.search(rf"(?<![\w./-]){re.escape(name.casefold())}(?![\w-])", lowered)
        ):
            scores[path], reasons[path] = 50.0, "its name is in the task"
    # The parts of a path that is written out are no words of their own.
    rest = re.sub("|".join(re.escape(path) for path in scores) or r"(?!)", " ", text)
    words = _words(rest)
    stems = {word.casefold(): word for word in words}
    telling: dict[str, list[str]] = {}
    for path in paths:
        stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0].casefold()
        if stem in stems:
            scores[path] = scores.get(path, 0.0) + 4.0
            telling.setdefault(path, []).append(stems[stem])
    try:
        hits = source.mentions(words)
    except GitError:
        left_out.append(LeftOut("", "the search for the task's words found too much"))
        hits = {}
    spread: dict[str, int] = {}
    for words_in in hits.values():
        for word in words_in:
            spread[word] = spread.get(word, 0) + 1
    total = max(len(paths), 1)
    common = max(3, total * _COMMON_SHARE)
    for path, words_in in hits.items():
        rare = sorted(
            (word for word in words_in if spread[word] <= common), key=lambda word: (spread[word], word)
        )
        if rare:
            scores[path] = scores.get(path, 0.0) + sum(math.log(1 + total / spread[word]) for word in rare)
            telling.setdefault(path, []).extend(rare)
    for path, why in telling.items():
        reasons.setdefault(path, f"mentioned: {', '.join(list(dict.fromkeys(why))[:3])}")
    plain = (path for path in scores if scores[path] >= 50 or not _GENERATED.search(path))
    ranked = sorted(plain, key=lambda path: (-scores[path], suffix_of(path) in {".md", ".txt", ".rst"}, path))
    return [(path, reasons[path]) for path in ranked[:_MAX_FOUND]]
