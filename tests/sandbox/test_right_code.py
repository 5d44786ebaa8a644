"""The tests run on the proposal, not on the user's checkout: an editable install, uv, npm, cargo, go, make, each for real."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from navigator.model.states import CheckOutcome
from navigator.sandbox.binds import toolchains_for
from navigator.sandbox.supervise import Limits
from tests.git.world import fingerprint
from tests.journey.support import differences, git
from tests.sandbox.support import Bench, needs_sandbox

pytestmark = [pytest.mark.sandbox, needs_sandbox]

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED

PYTHON_PROJECT = {
    "pyproject.toml": (
        '[project]\nname = "thing"\nversion = "1.0"\nrequires-python = ">=3.11"\n[tool.uv]\npackage = false\n'
    ),
    "src/thing/__init__.py": "def double(x):\n    return 2 * x\n",
    "tests/test_thing.py": (
        "import unittest\n\nimport thing\n\n\nclass Thing(unittest.TestCase):\n    def test_double(self):\n"
        "        self.assertEqual(thing.double(4), 8, thing.__file__)\n"
    ),
    ".gitignore": ".venv/\nnode_modules/\ntarget/\n",
}
BROKEN = {"src/thing/__init__.py": "def double(x):\n    return 3 * x\n"}
OTHERWISE_SOUND = {"src/thing/__init__.py": "def double(x):\n    return x + x\n"}

Changes = dict[str, str | None]


def run(*words: str, cwd: Path) -> None:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def proves_the_proposal(bench: Bench, broken: Changes, sound: Changes, name: str) -> None:
    """A broken proposal fails and a sound one passes; the checkout stays as it is."""
    before = fingerprint(bench.path)
    base = bench.run()
    assert base.outcome is PASSED, base.detail
    bad = bench.run(bench.changed(broken))
    assert bad.outcome is FAILED, bad.detail
    assert name in " ".join(bad.failures), bad
    good = bench.run(bench.changed(sound))
    assert good.outcome is PASSED, good.detail
    assert differences(before, fingerprint(bench.path)) == []


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(
        tmp_path_factory.mktemp("installed"), PYTHON_PROJECT, "python -m unittest discover -s tests"
    )
    run(sys.executable, "-m", "venv", "--without-pip", ".venv", cwd=bench.path)
    (place,) = bench.path.glob(".venv/lib/python*/site-packages")
    # What `pip install -e .` leaves there.
    (place / "__editable__.thing.pth").write_text(f"{bench.path / 'src'}\n")
    return bench


def test_an_editable_install_imports_the_proposal_and_cannot_be_written(installed: Bench) -> None:
    before = fingerprint(installed.path)
    installed.run(check="touch .venv/lib/x || touch .venv/x || echo kept")
    assert differences(before, fingerprint(installed.path)) == []
    proves_the_proposal(installed, {**BROKEN}, {**OTHERWISE_SOUND}, "test_thing.Thing.test_double")
    # A checkout that is broken meanwhile is not what is tested.
    (installed.path / "src/thing/__init__.py").write_text(BROKEN["src/thing/__init__.py"])
    assert installed.run(installed.changed({**OTHERWISE_SOUND})).outcome is PASSED


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv: pip install uv")
def test_a_uv_project(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PYTHON_PROJECT, "PYTHONPATH=src uv run python -m unittest discover -s tests")
    run("uv", "sync", "-q", "--offline", "--python", sys.executable, cwd=bench.path)
    git(bench.path, "add", "uv.lock")
    bench.commit("lock")
    proves_the_proposal(bench, {**BROKEN}, {**OTHERWISE_SOUND}, "test_thing.Thing.test_double")


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm: apt install npm")
def test_an_npm_project(tmp_path: Path) -> None:
    project = {
        "package.json": '{"name": "thing", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
        "index.js": "const two = require('two');\nexports.double = (x) => two * x;\n",
        "index.test.js": (
            "const test = require('node:test');\nconst assert = require('node:assert');\n"
            "test('doubles', () => assert.strictEqual(require('./index.js').double(4), 8));\n"
        ),
        ".gitignore": "node_modules/\n",
    }
    bench = Bench(tmp_path, project, "npm test")
    package = bench.path / "node_modules" / "two"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "two", "version": "1.0.0", "main": "index.js"}')
    (package / "index.js").write_text("module.exports = 2;\n")
    broken = {"index.js": project["index.js"].replace("two * x", "two + x")}
    proves_the_proposal(bench, broken, {"index.js": "exports.double = (x) => x + x;\n"}, "doubles")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo: apt install cargo")
def test_a_cargo_project(tmp_path: Path) -> None:
    test = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn doubles() {\n        assert_eq!(crate::double(4), 8);\n    }\n}\n"
    code = "pub fn double(x: u32) -> u32 {\n    2 * x\n}\n" + test
    project = {
        "Cargo.toml": '[package]\nname = "thing"\nversion = "1.0.0"\nedition = "2021"\n',
        "Cargo.lock": 'version = 3\n\n[[package]]\nname = "thing"\nversion = "1.0.0"\n',
        "src/lib.rs": code,
        ".gitignore": "target/\n",
    }
    bench = Bench(tmp_path, project, "cargo test")
    # What an earlier build left in the checkout is not used: it would be of other code.
    (bench.path / "target").mkdir()
    broken, sound = ({"src/lib.rs": code.replace("2 * x", other)} for other in ("3 * x", "x + x"))
    proves_the_proposal(bench, broken, sound, "tests::doubles")
    uncompilable = bench.run(bench.changed({"src/lib.rs": "pub fn double(x: u32) -> u32 {\n"}))
    assert uncompilable.outcome is FAILED and "could not compile" in uncompilable.failures[0]


@pytest.mark.skipif(shutil.which("go") is None, reason="go: apt install golang")
def test_a_go_project(tmp_path: Path) -> None:
    code = "package thing\n\nfunc Double(x int) int { return 2 * x }\n"
    project = {
        "go.mod": "module example.org/thing\n\ngo 1.19\n",
        "thing.go": code,
        "thing_test.go": (
            'package thing\n\nimport "testing"\n\nfunc TestDouble(t *testing.T) {\n'
            '\tif Double(4) != 8 {\n\t\tt.Fatal("not doubled")\n\t}\n}\n'
        ),
    }
    broken, sound = ({"thing.go": code.replace("2 * x", other)} for other in ("3 * x", "x + x"))
    bench = Bench(tmp_path, project, "go test ./...")
    proves_the_proposal(bench, broken, sound, "example.org/thing.TestDouble")


@pytest.fixture
def plain(tmp_path: Path) -> Bench:
    return Bench(tmp_path, {"a.txt": "a\n", "sub/b.txt": "b\n"})


def test_ignored_folders_of_dependencies_come_along_and_others_do_not(plain: Bench) -> None:
    for name in ("node_modules/x", "sub/node_modules/y", "secrets/key", "target/debug", ".idea/z"):
        (plain.path / name).mkdir(parents=True)
    seen = plain.run(
        check="ls -d node_modules/x sub/node_modules/y; ls -d secrets target .idea; exit 1"
    ).detail
    assert "node_modules/x" in seen and "sub/node_modules/y" in seen
    assert seen.count("No such file") == 3


def test_a_folder_that_the_tree_holds_is_the_trees(plain: Bench) -> None:
    (plain.path / "vendor").mkdir()
    (plain.path / "vendor" / "own.txt").write_text("the checkout's\n")
    tree = plain.changed({"vendor/lib.txt": "the proposal's\n"})
    seen = plain.run(tree, check="ls vendor; exit 1").detail
    assert "lib.txt" in seen and "own.txt" not in seen


def test_a_link_in_the_tree_leads_no_folder_of_the_machine_in(plain: Bench, tmp_path: Path) -> None:
    """The tree holds a link where the checkout has a folder: what is bound there must not follow it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(plain.path, "rm", "-rq", "sub")
    (plain.path / "sub").symlink_to(elsewhere)
    git(plain.path, "add", "sub")
    plain.commit("a link")
    (elsewhere / "node_modules").mkdir()
    (elsewhere / "node_modules" / "key.txt").write_text("secret\n")
    seen = plain.run(check="cat sub/node_modules/key.txt; readlink sub; exit 1").detail
    assert "secret" not in seen and str(elsewhere) in seen
    assert sorted(path.name for path in elsewhere.iterdir()) == ["node_modules"]


def test_mounts_that_were_asked_for_are_there_and_read_only(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "set.txt").write_text("numbers\n")
    check = f"cat {data}/set.txt; touch {data}/x || echo kept; exit 1"
    seen = Bench(tmp_path, {"a.txt": "a\n"}, check, check_mounts=(str(data),)).run().detail
    assert "numbers" in seen and "kept" in seen
    assert [path.name for path in data.iterdir()] == ["set.txt"]


def test_a_project_in_the_home_folder_brings_nothing_else_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name in (".ssh/id", ".cargo/credentials.toml", ".npmrc", "other/code.py"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("secret\n")
    monkeypatch.setenv("HOME", str(home))
    bench = Bench(home, {"a.txt": "a\n"})
    seen = bench.run(
        check=f"find {home} -not -path '*/code/*' -type f; find {home} -maxdepth 1; cargo -V; npm -v; exit 1"
    )
    assert "secret" not in seen.detail and ".ssh" not in seen.detail and ".npmrc" not in seen.detail
    assert "credentials" not in seen.detail


def test_no_key_of_a_toolchain_comes_along(
    plain: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "owner"
    names = (
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".npmrc",
        ".pypirc",
        ".netrc",
        ".config/uv/uv.toml",
    )
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text('[registries.own]\ntoken = "shall-not-be-seen"\n')
    (home / ".cargo" / "registry").mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CARGO_HOME", "RUSTUP_HOME"):
        monkeypatch.delenv(name, raising=False)
    tools = "cargo --version; npm --version; uv --version; python3 --version"
    named = " -o ".join(f"-name {name.rpartition('/')[2]}" for name in names)
    seen = plain.run(
        check=f"{tools}; find / -xdev \\( {named} \\) -path '*owner*' -exec cat {{}} +; cat ~/.cargo/c*; exit 1"
    )
    assert "Python 3" in seen.detail and "shall-not-be-seen" not in seen.detail


def test_a_worktree_written_out_is_byte_for_byte(plain: Bench) -> None:
    """No filter and no attribute changes what is tested."""
    text = "a $Id$ line\r\nand another\n"
    attributes = "*.txt ident eol=crlf filter=evil\nsub export-ignore\n"
    tree = plain.changed({".gitattributes": attributes, "x.txt": text})
    expected = " ".join(f"{byte:02x}" for byte in text.encode())
    seen = plain.run(tree, check="od -An -tx1 -w200 x.txt; ls sub; exit 1", limits=Limits(30, 4096)).detail
    assert expected in seen and "b.txt" in seen


def test_programs_of_navigators_own_environment_are_not_the_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder may come first on the PATH, and has a pytest too."""
    theirs = tmp_path / "theirs/bin/pytest"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("#!/bin/sh\n")
    theirs.chmod(0o755)
    ours = Path(sys.prefix) / "bin"
    assert (ours / "pytest").exists()
    monkeypatch.setenv("PATH", f"{ours}:{theirs.parent}:/usr/bin:/bin")
    found = toolchains_for("pytest -q", (), tmp_path / "checkout", ())
    assert str(theirs.parent) in found.path and str(ours) not in found.path
    monkeypatch.setenv("PATH", f"{ours}:/usr/bin:/bin")
    absent = toolchains_for("ruff check", (), tmp_path / "checkout", ())
    assert absent.missing == ["ruff"]
