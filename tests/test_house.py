"""The rules of the house that no type checker sees."""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pydantic import BaseModel

from navigator.actions.registry import known
from navigator.config.reading import inner_model
from navigator.config.settings import Settings
from navigator.model.models import Review
from navigator.model.states import Verdict
from navigator.store.database import open_writer
from tests.journey.landing_bench import LandingBench
from tests.records import finding

ROOT = Path(__file__).parent.parent

# In one process: it parses every file once.
pytestmark = pytest.mark.xdist_group("house")

HEAVY = ("textual", "rich", "httpx", "git", "jinja2", "tiktoken", "pygments")


@cache
def parsed(path: Path) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def loaded_after(code: str, tmp_path: Path) -> set[str]:
    """Top-level modules in `sys.modules` after a program ran in a fresh interpreter."""
    program = (
        f"import sys\n{code}\nprint('MODULES', *sorted({{name.partition('.')[0] for name in sys.modules}}))"
    )
    environment = os.environ | {"NAVIGATOR_STATE": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        timeout=60,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("MODULES"))
    return set(line.split()[1:])


def test_status_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "from navigator.cli.main import cli\ncli.main(['status'], standalone_mode=False)"
    assert not loaded_after(code, tmp_path) & set(HEAVY)
    # The first one made the database. From then on it reads counts: no model, no event loop.
    assert not loaded_after(code, tmp_path) & {*HEAVY, "pydantic", "asyncio"}


@pytest.mark.parametrize("words", ["['proposals']", "['task', 'list']"])
def test_lists_import_no_model(words: str, tmp_path: Path) -> None:
    code = f"from navigator.cli.main import cli\ncli.main({words}, standalone_mode=False)"
    loaded_after(code, tmp_path)  # makes the database
    # RE2 is for the texts of others; what a command needs of itself is read without it.
    assert not loaded_after(code, tmp_path) & {*HEAVY, "pydantic", "asyncio", "re2"}


def test_a_diff_imports_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=1)
    with bench.world() as world, world.store.transaction() as tx:
        tx.add_review("P1", Review(verdict=Verdict.REVISE, findings=(finding(), finding(anchored=False))))
    code = "from navigator.cli.main import cli\ncli.main(['diff', 'P1'], standalone_mode=False)"
    loaded_after(code, tmp_path)  # marks it as seen
    assert not loaded_after(code, tmp_path) & {*HEAVY, "pydantic", "asyncio"}


@pytest.mark.parametrize("words", ["['--help']", "['task', 'list', '--json']", "['proposals', '--json']"])
def test_light_commands_import_nothing_heavy(words: str, tmp_path: Path) -> None:
    code = f"from navigator.cli.main import cli\ntry:\n    cli.main({words}, standalone_mode=False)\nexcept SystemExit:\n    pass"
    assert not loaded_after(code, tmp_path) & set(HEAVY)


def test_the_first_paint_imports_no_model(tmp_path: Path) -> None:
    code = "import navigator.tui.app, navigator.tui.deck"
    late = {"pydantic", "httpx", "git", "jinja2", "tiktoken", "pygments"}
    assert not loaded_after(code, tmp_path) & {*late, "sqlite3", "ctypes"}


def test_the_first_rows_import_no_model(tmp_path: Path) -> None:
    database = tmp_path / "navigator.db"
    open_writer(database).close()
    code = (
        "import pathlib; from navigator.store.database import open_reader; from navigator.tui.feed import Follower\n"
        f"assert Follower(open_reader(pathlib.Path({str(database)!r}))).look().loaded"
    )
    assert "pydantic" not in loaded_after(code, tmp_path)


def test_importing_the_package_does_no_work(tmp_path: Path) -> None:
    before = loaded_after("pass", tmp_path)
    assert loaded_after("import navigator", tmp_path) - before == {"navigator"}


def test_the_engine_is_never_imported() -> None:
    pattern = re.compile(r"^\s*(import|from)\s+(sglang|torch|vllm)\b", re.MULTILINE)
    for path in (ROOT / "navigator").rglob("*.py"):
        assert not pattern.search(path.read_text(encoding="utf-8")), path


def names_used(tree: ast.AST) -> set[str]:
    """What a module imports, with the strings it gives to `import_module` and `__import__`, and what it takes from modules."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str() as module, names=names):
                found |= {module, *(f"{module}.{alias.name}" for alias in names)}
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str() as module), *_],
            ):
                found.add(module)
            case ast.Call(func=ast.Attribute(attr="json"), args=[]):
                found.add("httpx.Response.json")
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                found.add(f"{module}.{name}")
    return found


ALONE = ("reporter.py", "page_cache.py")
"""Files that run in another Python, without Navigator, and read what Navigator gave them."""


@pytest.mark.parametrize(
    ("home", "forbidden", "instead"),
    [
        ("patterns.py", {"re", "sre_parse", "sre_compile", "re2", "regex"}, "navigator.model.patterns"),
        (
            "json_text.py",
            {"json.loads", "json.load", "httpx.Response.json"},
            "navigator.model.json_text.read_json",
        ),
        ("json_text.py", {"tomllib.loads", "tomllib.load"}, "navigator.model.json_text.read_toml"),
    ],
)
def test_text_of_others_is_read_by_one_module(home: str, forbidden: set[str], instead: str) -> None:
    """Its time and its depth are bounded there."""
    for path in (ROOT / "navigator").rglob("*.py"):
        if path == ROOT / "navigator/model" / home or path.name in ALONE:
            continue
        used = names_used(parsed(path))
        assert not used & forbidden, f"{path.relative_to(ROOT)}: use {instead}"


def imports_within() -> dict[str, set[str]]:
    """For each module of the package, the modules of the package that its file imports anywhere, also for types only."""
    files = {}
    for path in (ROOT / "navigator").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph: dict[str, set[str]] = {}
    for module, path in files.items():
        named: set[str] = set()
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                full = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= {name if name in files else node.module for name in full}
        graph[module] = (named & files.keys()) - {module}
    return graph


def test_no_files_import_each_other_in_a_circle() -> None:
    left = imports_within()
    while leaves := {module for module, wanted in left.items() if not wanted & left.keys()}:
        left = {module: wanted for module, wanted in left.items() if module not in leaves}
    # What remains is in a circle, or imports something that is.
    assert sorted(left) == []


def test_functions_stay_short() -> None:
    """60 lines is the aim; beyond 80 a function does more than one thing."""
    long = {
        f"{path.relative_to(ROOT)}:{node.name}": node.end_lineno - node.lineno + 1
        for path in (ROOT / "navigator").rglob("*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None
    }
    assert {name: lines for name, lines in long.items() if lines > 80} == {}


BUDGETS = {
    "journey": 5_260,
    "actions": 1_895,
    "engine": 2_185,
    "tui": 6_805,
    "cli": 3_300,
    "store": 2_655,
    "lab": 2_510,
    "sandbox": 1_980,
    "swap": 2_365,
    "context": 1_835,
    "git": 1_805,
    "model": 1_415,
    "rehearsal": 1_290,
    "figures": 1_955,
    "client": 1_095,
    "checks": 800,
    "edits": 1_000,
    "setup": 1_900,
    "agents": 980,
    "schedule": 925,
    "config": 625,
    "landing": 780,
    "exam": 1_460,
    "process": 655,
    "sheet": 1_300,
    "mcp": 315,
}
"""Lines of code that each package may have. Where one grows past it, say in `docs/decisions/` what left for it."""


def code_lines(text: str) -> int:
    """Lines that hold something other than a comment or a docstring."""
    docs = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and ast.get_docstring(node)
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    marks = (
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.COMMENT,
    )
    tokens = [
        token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in marks
    ]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - docs)


def test_a_public_class_has_a_name_of_its_own_and_a_helper_nearly_so() -> None:
    """A reader who meets a name in one package need not ask which of several it is."""
    classes, helpers = dict[str, list[str]](), dict[str, list[str]]()
    for path in (ROOT / "navigator").rglob("*.py"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("_"):
                helpers.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in classes.items() if len(found) > 1} == {}
    assert {name: found for name, found in helpers.items() if len(found) > 3 and name != "__getattr__"} == {}


def test_no_package_outgrows_its_budget() -> None:
    lines, files = Counter[str](), list((ROOT / "navigator").rglob("*.py"))
    for path in files:
        lines[path.relative_to(ROOT / "navigator").parts[0]] += code_lines(path.read_text(encoding="utf-8"))
    over = {package: count for package, count in lines.items() if count > BUDGETS.get(package, 10)}
    assert over == {}
    assert lines.total() <= 50_000
    assert len(files) <= 340


SHAPED = (
    *("agents/checkout.py", "agents/session.py", "agents/profiles.py", "agents/session.py"),
    *("sandbox/one_test.py", "context/source.py", "git/hook.py"),
    "git/facts.py",
)
"""Modules that read or write where an agent, a test or a repository puts files."""

OWN_WAYS = {
    *("read_text", "read_bytes", "write_text", "write_bytes", "open", "fdopen", "touch", "symlink_to"),
    *("copy", "copyfile", "copytree", "glob", "rglob"),
}


def test_folders_that_others_shape_are_read_and_written_in_one_way() -> None:
    """`process.guarded` follows no link and waits for nothing; here are what a call of another kind is for."""
    known = {
        ("agents/checkout.py", "os.open"): "the copy's own folder",
        ("sandbox/one_test.py", "Path(reporter.__file__).read_bytes"): "Navigator's own",
        ("sandbox/one_test.py", "(folder / name).write_bytes"): "before anything runs there",
        (
            "sandbox/one_test.py",
            "(folder / 'config.json').write_text",
        ): "before anything runs there",
    }
    found = {
        (name, ast.unparse(call.func))
        for name in SHAPED
        for call in ast.walk(parsed(ROOT / "navigator" / name))
        if isinstance(call, ast.Call)
        and (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", ""))
        in OWN_WAYS
    }
    assert found == set(known)


def keys(model: type[BaseModel]) -> Iterator[str]:
    """The keys of a table and of the tables in it, each server's own."""
    for name, field in model.model_fields.items():
        inner = inner_model(field.annotation)
        if inner is not None:
            yield from (f"{name}.{key}" for key in keys(inner))
        elif not field.exclude:
            yield name


def test_settings_stay_few() -> None:
    """What nobody would change is a constant with its reason; what follows from another setting is derived."""
    assert len(list(keys(Settings))) <= 90


def test_verbs_stay_few() -> None:
    """One action in several forms is one verb with a field."""
    assert len(known()) <= 28


def test_a_task_moves_in_one_file() -> None:
    """`journey/change.py` says when a task gets from one state to the next, `moves.py` how."""
    moving = {
        str(path.relative_to(ROOT / "navigator"))
        for path in (ROOT / "navigator").rglob("*.py")
        if re.search(r"\.set_task_state\(", path.read_text(encoding="utf-8"))
    }
    assert moving == {"journey/moves.py"}
    life = (ROOT / "navigator/journey/change.py").read_text(encoding="utf-8")
    assert len(life[life.index("async def write(") :].splitlines()) <= 125, "two screens"


def test_a_rehearsal_is_known_by_its_database_alone() -> None:
    """Whether work is simulated is one fact of the store: few signatures and records pass it on."""
    told = set()
    for path in (ROOT / "navigator").rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.arg) or (
                isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
            ):
                name = node.arg if isinstance(node, ast.arg) else ast.unparse(node.target)
                told |= {path.relative_to(ROOT / "navigator").as_posix()} if "rehears" in name else set()
    assert told == {"store/database.py", "tui/deck_snapshot.py"}


def test_the_extra_brings_the_sglang_that_the_tests_talk_to() -> None:
    lines = (ROOT / "engines/sglang-alone.in").read_text(encoding="utf-8").splitlines()
    pinned = next(line for line in lines if line.startswith("sglang=="))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [one.partition(";")[0] for one in project["optional-dependencies"]["serve"]] == [pinned]


def test_the_lock_names_no_host() -> None:
    engines = ("engines/requirements.txt", "engines/sglang-requirements.txt")
    for name in ("requirements.lock", "requirements-dev.lock", *engines):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "--hash=sha256:" in text
        assert "://" not in text
        assert "index-url" not in text
