"""What the generator decides to change, before anything is spoilt: the rule, the files, the new texts."""

from __future__ import annotations

import ast
import posixpath
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import libcst as cst

from navigator.exam.faults import lines_of, parses
from navigator.model import patterns
from tests.scripted.reading import WritingPrompt
from tests.scripted.writer.edits import Edit, edits_between, render_edits
from tests.scripted.writer.rules import RULES, Outcome, Rule, choose_rules

LARGEST_FILE = 120_000
"""Characters. Larger files are left alone: parsing them would take longer than a rehearsal is worth."""

_MOST_FUNCTIONS = 12
MOST_FILES = 6
MOST_FILES_UNASKED = 2
LONGEST_ANSWER = 14_000
"""Characters of blocks in one answer; about 3,500 tokens."""

_BY_NAME = {rule.name: rule for rule in RULES}


@dataclass(frozen=True, slots=True)
class FileWork:
    """One file before and after. `seen` counts the places the rule found, `skip` holds those left as they are."""

    path: str
    old: str
    new: str
    changed: int
    seen: int
    skip: frozenset[int] = frozenset()
    focus: frozenset[str] = frozenset()
    creates: bool = False

    def edits(self) -> list[Edit]:
        """The blocks for this file."""
        if self.creates:
            return [Edit(self.path, (), tuple(lines_of(self.new)), form="new")]
        return edits_between(self.path, self.old, self.new)


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done; `reason` says why there is nothing when `files` is empty."""

    rule: Rule | None
    files: tuple[FileWork, ...]
    reason: str = ""

    @property
    def edits(self) -> list[Edit]:
        """Every block, file by file."""
        return [edit for file in self.files for edit in file.edits()]


def plan_work(prompt: WritingPrompt) -> Work:
    """The first rule that finds something in the files shown, within what the task names."""
    if not prompt.files:
        return Work(None, (), "no file was shown that could be changed.")
    rules, asked = choose_rules(prompt.task, prompt.kind, prompt.note)
    left_out: list[str] = []
    for rule in rules:
        files = _files_for(rule, prompt, asked, left_out)
        if files and rule.creates and prompt.note:
            # The note asks for a test besides: what the task asked for is made again with it.
            before = plan_work(replace(prompt, note=""))
            made = {file.path for file in files}
            files = (*(file for file in before.files if file.path not in made), *files)
            rule = before.rule or rule
        if files:
            return Work(rule, _within_budget(rule, files, prompt.marker))
    names = ", ".join(sorted(prompt.files)[:4])
    looked = (
        f"nothing the task asks for was found in {names}" if asked else f"none of my rules applies to {names}"
    )
    aside = f"; left aside: {', '.join(dict.fromkeys(left_out))}" if left_out else ""
    return Work(None, (), f"{looked}{aside}.")


def redo(rule: Rule, file: FileWork, skip: frozenset[int]) -> FileWork:
    """The same file with other places left as they are."""
    outcome = _apply(rule.name, file.old, file.focus, skip)
    return FileWork(file.path, file.old, outcome.text, outcome.changed, outcome.seen, skip, file.focus)


@lru_cache(maxsize=256)
def _apply(rule: str, text: str, focus: frozenset[str], skip: frozenset[int]) -> Outcome:
    return _BY_NAME[rule].apply(text, focus, skip)


def _files_for(rule: Rule, prompt: WritingPrompt, asked: bool, left_out: list[str]) -> tuple[FileWork, ...]:
    if rule.creates:
        return _new_tests(prompt)
    named = _named(prompt)
    paths = named or list(prompt.files)
    found: list[FileWork] = []
    for path in paths:
        if not path.endswith(rule.suffixes) or (not named and not asked and _is_test(path)):
            continue
        file = _work_on(rule, path, prompt, left_out)
        if file is not None:
            found.append(file)
        if len(found) == (MOST_FILES if asked else MOST_FILES_UNASKED):
            break
    return tuple(found)


def _named(prompt: WritingPrompt) -> list[str]:
    """Files shown that the task is about: by its list, or else because its words name them."""
    listed = [path for path in prompt.named if path in prompt.files]
    if listed:
        return listed
    words = set(patterns.findall(r"[\w./-]+\.\w+", f"{prompt.note}\n{prompt.task}"))
    return [path for path in prompt.files if path in words or posixpath.basename(path) in words]


def _work_on(rule: Rule, path: str, prompt: WritingPrompt, left_out: list[str]) -> FileWork | None:
    text = prompt.files[path]
    if not rule.may_apply(text):
        return None
    if len(text) > LARGEST_FILE:
        left_out.append(f"{path} (more than {LARGEST_FILE:,} characters)")
        return None
    clean = text.replace("\r\n", "\n")
    focus = _focus(prompt.note or prompt.task, clean)
    try:
        outcome = _apply(rule.name, clean, focus, frozenset())
    except (cst.ParserSyntaxError, cst.CSTValidationError, ValueError, RecursionError):
        left_out.append(f"{path} (cannot be parsed)")
        return None
    if not outcome.changed or outcome.text == clean:
        return None
    if path.endswith((".py", ".pyi")) and not parses(outcome.text):
        left_out.append(f"{path} (cannot be parsed)")
        return None
    return FileWork(path, clean, outcome.text, outcome.changed, outcome.seen, focus=focus)


def _focus(task: str, text: str) -> frozenset[str]:
    """Functions and classes of the file that the task names in backticks."""
    names = patterns.findall(r"`(?:\w+\.)*(\w+)(?:\(\))?`", task)
    return frozenset(
        name
        for name in names
        if patterns.search(rf"^\s*(?:async\s+def|def|class)\s+{name}\b", text, patterns.MULTILINE)
    )


def _new_tests(prompt: WritingPrompt) -> tuple[FileWork, ...]:
    known = {*prompt.tree, *prompt.files}
    own = frozenset(part for path in known for part in _roots(path))
    sources = _named(prompt) or list(prompt.files)
    folder = "tests"
    for path in sources:
        if (
            not path.endswith(".py")
            or _is_test(path)
            or path.endswith(("__init__.py", "__main__.py", "setup.py"))
        ):
            continue
        target = f"{folder}/test_{posixpath.basename(path)[:-3]}_interface.py"
        inner = path.removeprefix("src/")
        package = posixpath.dirname(inner)
        if target in known or (package and f"{posixpath.dirname(path)}/__init__.py" not in known):
            continue
        root = "src" if inner != path else ""
        text = prompt.files[path].replace("\r\n", "\n")
        source = interface_test(inner[:-3].replace("/", "."), text, own, root=root)
        if source is not None:
            return (FileWork(target, "", source, 1, 1, creates=True),)
    return ()


def _roots(path: str) -> set[str]:
    parts = path.removeprefix("src/").split("/")
    return {parts[0].removesuffix(".py")}


def _within_budget(rule: Rule, files: tuple[FileWork, ...], marker: int) -> tuple[FileWork, ...]:
    """Leave out later files, then later places, until the answer is short enough to be given whole."""
    while len(files) > 1 and _length(files, marker) > LONGEST_ANSWER:
        files = files[:-1]
    while _length(files, marker) > LONGEST_ANSWER and files[0].changed > 1:
        file = files[0]
        keep = file.changed // 2
        files = (redo(rule, file, frozenset(range(keep, file.seen))),)
    return files


def _length(files: Sequence[FileWork], marker: int) -> int:
    return len(render_edits([edit for file in files for edit in file.edits()], marker))


def _is_test(path: str) -> bool:
    return "tests/" in path or "test/" in path or posixpath.basename(path).startswith(("test_", "conftest"))


def interface_test(module: str, text: str, own: frozenset[str], *, root: str = "") -> str | None:
    """The source of a unittest module that pins the public interface of another, or None where it could not run for sure.

    Args:
        module: dotted name under which the file is imported.
        text: the file.
        own: top-level packages of the project; anything else imported has to be the standard library's.
        root: folder that holds the packages, e.g. "src"; empty where it is the repository itself.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    if not all(name in own or name in sys.stdlib_module_names for name in _imported(tree)):
        return None
    functions = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.decorator_list
    ]
    if not functions:
        return None
    title = "".join(part.capitalize() for part in module.rpartition(".")[2].split("_"))
    lines = [
        f'"""Pins the public interface of `{module}`: a changed signature has to be changed here too."""',
        "",
        "import inspect",
        *(["import sys"] if root else []),
        "import unittest",
        "",
        *([f'sys.path.insert(0, "{root}")', ""] if root else []),
        f"import {module} as subject",
        "",
        "",
        f"class {title}InterfaceTest(unittest.TestCase):",
        "    def parameters(self, name):",
        "        return list(inspect.signature(getattr(subject, name)).parameters)",
    ]
    for node in functions[:_MOST_FUNCTIONS]:
        every = [*node.args.posonlyargs, *node.args.args]
        if node.args.vararg:
            every.append(node.args.vararg)
        every += node.args.kwonlyargs
        if node.args.kwarg:
            every.append(node.args.kwarg)
        names = ", ".join(f'"{arg.arg}"' for arg in every)
        lines += [
            "",
            f"    def test_{node.name}(self):",
            f'        self.assertEqual(self.parameters("{node.name}"), [{names}])',
        ]
    lines += ["", "", 'if __name__ == "__main__":', "    unittest.main()", ""]
    return "\n".join(lines)


def _imported(tree: ast.Module) -> set[str]:
    """Top-level names of everything imported with an absolute name, anywhere in the file."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names
