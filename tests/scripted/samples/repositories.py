"""Sample repositories and tasks for the demo: small, different from one another, with real work for the rules.

Pure data, the same for the same seed. Writing it to disk and making repositories of it is the caller's business.
"""

from __future__ import annotations

import posixpath
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.model import patterns
from navigator.model.states import Complexity, TaskKind
from tests.scripted.samples.texts import (
    DOCUMENTS,
    MODULES,
    NAMES,
    WORDINGS,
    Chunk,
    Module,
    Wording,
    filled,
)  # fmt: skip

_LIMITS = (12, 16, 20, 24, 25, 30, 40, 50, 64, 80, 90, 100, 120, 200)


@dataclass(frozen=True, slots=True)
class SampleProject:
    """One repository to be made: its files by path, and the paths that get the executable bit."""

    name: str
    files: dict[str, bytes]
    executable: frozenset[str] = frozenset()
    check: str = "python3 -m unittest discover -s tests -q"


@dataclass(frozen=True, slots=True)
class SampleTask:
    """One task for one sample project, by the project's name."""

    project: str
    text: str
    kind: TaskKind
    complexity: Complexity
    files: tuple[str, ...]


def sample_projects(n: int = 24, seed: int = 0) -> list[SampleProject]:
    """`n` repositories with different names; beyond 24 the names are numbered."""
    return [_project(number, seed) for number in range(n)]


def sample_tasks(n: int, seed: int, projects: Sequence[SampleProject]) -> list[SampleTask]:
    """Up to `n` different tasks, every project's first before any project's second.

    Every fifth task is about a file that another task of the same project names, too. Fewer come back only when the
    projects hold no further work.
    """
    rng = random.Random(f"tasks {seed}")
    open_work = {project.name: _possible(project, rng) for project in projects}
    order = [project.name for project in projects]
    rng.shuffle(order)
    tasks: list[SampleTask] = []
    named: dict[str, set[str]] = {}
    texts_used: set[tuple[str, str]] = set()
    kinds: Counter[TaskKind] = Counter()
    while len(tasks) < n and any(open_work.values()):
        for name in order:
            if len(tasks) == n:
                break
            shared = len(tasks) % 5 == 4
            task = _next_task(open_work[name], named.setdefault(name, set()), kinds, shared=shared)
            if task is None or (name, task.text) in texts_used:
                continue
            texts_used.add((name, task.text))
            kinds[task.kind] += 1
            named[name].update(task.files)
            tasks.append(task)
    return tasks


def sample_questions(projects: Sequence[SampleProject]) -> list[SampleTask]:
    """Two tasks that change nothing: a scan of one project, whose suggestions are to be chosen from, and a report."""
    return [
        SampleTask(
            projects[-1].name,
            "What in this project is worth a task of its own?",
            TaskKind.SCAN,
            Complexity.MEDIUM,
            (),
        ),
        SampleTask(
            projects[0].name,
            "How do these modules hang together, and where would a second store be fitted in?",
            TaskKind.ARCHITECTURE,
            Complexity.MEDIUM,
            tuple(path for path in projects[0].files if path.endswith(".py") and "tests/" not in path),
        ),
    ]


def _project(number: int, seed: int) -> SampleProject:
    rng = random.Random(f"project {seed} {number}")
    name, noun, unit = NAMES[number % len(NAMES)]
    if number >= len(NAMES):
        name = f"{name}-{number // len(NAMES) + 1}"
    package = name.replace("-", "_")
    plural = (
        f"{noun}es"
        if noun.endswith(("s", "ch", "sh"))
        else f"{noun[:-1]}ies"
        if noun.endswith("y")
        else f"{noun}s"
    )
    words = {
        "name": name, "Name": name.replace("-", " ").title(), "package": package, "noun": noun, "nouns": plural,
        "Noun": noun.capitalize(), "Nouns": plural.capitalize(), "unit": unit, "limit": str(rng.choice(_LIMITS)),
        "gap": "   ", "tab": "\t",
    }  # fmt: skip
    modules = rng.sample(MODULES, rng.randint(3, 5))
    words["module"] = modules[0].name
    folder = f"src/{package}" if number % 4 == 1 else package
    files = {
        "README.md": filled(rng.choice(DOCUMENTS["readme"]), words),
        "pyproject.toml": filled(DOCUMENTS["pyproject"][0], words),
        f"{folder}/__init__.py": "",
        f"{folder}/__main__.py": filled(DOCUMENTS["main"][0], words),
        "tests/__init__.py": "",
    }
    for module in modules:
        chunks = _chosen(module, rng)
        files[f"{folder}/{module.name}.py"] = _module_text(module, chunks, words)
        if module.tested and (test := _test_text(module, chunks, words, folder)):
            files[f"tests/test_{module.name}.py"] = test
    files["docs/guide.md"] = filled(rng.choice(DOCUMENTS["guide"]), words)
    if rng.random() < 0.5:
        files["docs/operations.md"] = filled(DOCUMENTS["operations"][0], words)
    if rng.random() < 0.6:
        files["CHANGELOG.md"] = filled(DOCUMENTS["changes"][0], words)
    if number % 3 == 0:
        files["AGENTS.md"] = DOCUMENTS["agents"][0]
    content = {path: text.encode("utf-8") for path, text in files.items()}
    executable = _odd_files(content, number, folder, words)
    return SampleProject(name, dict(sorted(content.items())), executable)


def _odd_files(content: dict[str, bytes], number: int, folder: str, words: dict[str, str]) -> frozenset[str]:
    """Files that real repositories have too: CRLF, Latin-1, no final newline, an executable script."""
    if number % 4 == 0:
        content[f"{folder}/legacy.py"] = (
            filled(DOCUMENTS["legacy"][0], words).replace("\n", "\r\n").encode("utf-8")
        )
    if number % 4 == 2:
        content[f"{folder}/labels.py"] = filled(DOCUMENTS["labels"][0], words).encode("latin-1")
    if number % 3 == 1:
        content["docs/notes.md"] = filled(DOCUMENTS["notes"][0], words).encode("utf-8")
    if number % 3 != 2:
        return frozenset()
    script = f"scripts/import_{words['nouns']}.py"
    content[script] = filled(DOCUMENTS["script"][0], words).encode("utf-8")
    return frozenset({script})


def _chosen(module: Module, rng: random.Random) -> tuple[Chunk, ...]:
    """The first chunk and two or more others. Chunks that call one another are kept together."""
    others = list(module.chunks[1:])
    count = rng.randint(min(2, len(others)), len(others))
    kept = set(rng.sample(range(len(others)), count))
    if module.name == "checks":
        kept.add(0)
    if module.name == "parser" and 1 in kept:
        kept.add(0)
    return (module.chunks[0], *(chunk for at, chunk in enumerate(others) if at in kept))


def _module_text(module: Module, chunks: Sequence[Chunk], words: dict[str, str]) -> str:
    parts = [f'"""{filled(module.about, words)}"""\n']
    if module.imports:
        parts.append(f"\n{module.imports}")
    parts += [f"\n\n{filled(chunk.code, words)}" for chunk in chunks]
    return "".join(parts)


def _test_text(module: Module, chunks: Sequence[Chunk], words: dict[str, str], folder: str) -> str:
    tests = [chunk for chunk in chunks if chunk.test]
    if not tests:
        return ""
    lines = ["import unittest", ""]
    if folder.startswith("src/"):
        lines[0:0] = ["import sys"]
        lines += ['sys.path.insert(0, "src")', ""]
    lines += [f"from {words['package']} import {module.name} as subject", "", ""]
    lines.append(f"class {module.name.capitalize()}Test(unittest.TestCase):")
    for chunk in tests:
        body = filled(chunk.test, words).split("\n")
        lines += [f"    def test_{chunk.name.lower()}(self):", *[f"        {line}" for line in body], ""]
    return "\n".join(lines)


def _possible(project: SampleProject, rng: random.Random) -> list[SampleTask]:
    """Every task that some wording finds work for in this project, shuffled, no kind of work twice in a row."""
    found: list[SampleTask] = []
    for path, data in project.files.items():
        text = data.decode("latin-1").replace("\r\n", "\n")
        fitting = [wording for wording in WORDINGS if _fits(wording, path, text)]
        found += [_worded(wording, project.name, path, text, rng) for wording in fitting]
    rng.shuffle(found)
    return found


def _fits(wording: Wording, path: str, text: str) -> bool:
    if not path.endswith(wording.suffix) or path.startswith("tests/") or path.endswith("AGENTS.md"):
        return False
    if wording.kind is TaskKind.TEST and path.endswith("__main__.py"):
        return False
    return patterns.search(wording.pattern, text, patterns.MULTILINE) is not None


def _worded(wording: Wording, project: str, path: str, text: str, rng: random.Random) -> SampleTask:
    count = len(patterns.findall(wording.pattern, text, patterns.MULTILINE))
    complexity = (Complexity.SIMPLE, Complexity.MEDIUM, Complexity.COMPLEX)[min(2, (count - 1) // 2)]
    sentence = rng.choice(wording.texts).format(file=posixpath.basename(path), path=path)
    files = (path,) if rng.random() < 0.85 or "{path}" not in "".join(wording.texts) else ()
    return SampleTask(project, sentence, wording.kind, complexity, files)


def _next_task(
    tasks: list[SampleTask], named: set[str], kinds: Counter[TaskKind], *, shared: bool
) -> SampleTask | None:
    """Take the next task: of a kind that is rare so far, and about a file already named when `shared`, else another."""
    if not tasks:
        return None
    wanted = [task for task in tasks if bool(named & set(task.files)) == shared]
    task = min(wanted or tasks, key=lambda task: kinds[task.kind])
    tasks.remove(task)
    return task
