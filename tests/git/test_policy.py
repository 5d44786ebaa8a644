"""Policy over raw tree records, from real trees."""

from __future__ import annotations

import pytest

from navigator.checks.policy import check_paths, check_policy
from navigator.git.diffs import RawChange
from navigator.git.private import FileChange
from navigator.model.states import PolicyAction
from tests.git.world import World, commit


def rules(world: World, changes: dict[str, bytes | FileChange | None]) -> list[tuple[str, str, str]]:
    proposal = world.propose(changes)
    raw = world.private.raw_diff(proposal.base_commit, proposal.tree)
    base = world.private.tree_entries(proposal.base_commit).keys()
    items = check_policy(raw, base, world.private.read_blob, project=world.project)
    assert all(item.detail for item in items)
    return [(item.action.value, item.rule, item.path) for item in items]


def test_ordinary_source_is_free(world: World) -> None:
    changes = {"src/app.py": b"x = 1\n", "src/new.py": b"", "README.md": None, "src/ünicode name.py": b"y\n"}
    assert rules(world, changes) == []


def test_symlinks_submodules_and_binaries_are_refused(world: World) -> None:
    (world.repo / "link").symlink_to("README.md")
    commit(world.repo, {})
    links = {
        "link": b"/etc/passwd",
        "new-link": FileChange(b"x", "120000"),
        "src/util.py": FileChange(b"a", "120000"),
    }
    binaries = {"image.png": b"\x89PNG\0\0", "README.md": b"# x\0\n"}
    found = {path: (action, rule) for action, rule, path in rules(world, links | binaries)}
    kinds = dict.fromkeys(links, ("refuse", "symlink")) | dict.fromkeys(binaries, ("refuse", "binary"))
    assert found == kinds
    sha = "1" * 40
    gitlink = RawChange("000000", "160000", "0" * 40, sha, "A", "sub")
    assert [i.rule for i in check_policy([gitlink], (), lambda _: b"")] == ["submodule"]


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/etc/passwd", "outside"),
        ("a/../../b", "outside"),
        ("", "outside"),
        ("a\\..\\b", "outside"),
        ("evil\u202etxt.py", "path_characters"),
        ("esc\x1b[31m", "path_characters"),
        ("bad\udcff", "path_characters"),
        (".git/config", "git_folder"),
        ("sub/.GIT/hooks/x", "git_folder"),
        ("git~1/config", "git_folder"),
        (".git /config", "git_folder"),
        (".git./config", "git_folder"),
        (".git::$INDEX_ALLOCATION/config", "git_folder"),
        ("src/NUL.txt", "reserved_name"),
        ("trailing.", "reserved_name"),
        ("readme.md", "case_collision"),
        ("SRC/other.py", "case_collision"),
        ("src/App.py", "case_collision"),
    ],
)
def test_names_that_are_refused(path: str, rule: str) -> None:
    (item,) = check_paths([path], ["README.md", "src/app.py"])
    assert (item.rule, item.action) == (rule, PolicyAction.REFUSE)
    assert item.detail.isprintable()


def test_collisions_among_new_paths_and_forms_of_accents() -> None:
    assert [i.path for i in check_paths(["New.txt", "new.txt"])] == ["new.txt"]
    assert [i.rule for i in check_paths(["cafe\u0301.txt"], ["caf\u00e9.txt"])] == ["case_collision"]
    assert check_paths(["readme.md"], ["README.md"], removed=["README.md"]) == ()
    assert check_paths(["src/a.py", "src/b.py"], ["src/c.py", "SRC/d.py"]) == ()


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".gitattributes", "git_attributes"),
        (".gitmodules", "git_modules"),
        (".github/workflows/x.yml", "ci"),
        ("Jenkinsfile", "ci"),
        ("uv.lock", "lockfile"),
        (".envrc", "environment"),
        (".vscode/settings.json", "editor"),
        ("Makefile", "build"),
        ("package.json", "dependencies"),
        ("tests/conftest.py", "test_hook"),
        ("hook.pth", "test_hook"),
        (".husky/pre-commit", "commit_hook"),
        ("sub/CLAUDE.md", "agent_instructions"),
        (".cargo/config.toml", "package_source"),
        ("server.pem", "secret"),
    ],
)
def test_files_that_run_by_being_there_are_confirmed(path: str, rule: str) -> None:
    raw = [RawChange("000000", "100644", "0" * 40, "1" * 40, "A", path)]
    (item,) = check_policy(raw, ("README.md",), lambda _: b"x\n")
    assert (item.action, item.rule, item.path) == (PolicyAction.CONFIRM, rule, path)


def test_executable_bits_both_ways(world: World) -> None:
    commit(world.repo, {"run.sh": b"#!/bin/sh\n"})
    (world.repo / "run.sh").chmod(0o755)
    commit(world.repo, {})
    changes: dict[str, bytes | FileChange | None] = {
        "run.sh": FileChange(b"#!/bin/sh\n", "100644"),
        "new.sh": FileChange(b"x\n", "100755"),
        "src/util.py": FileChange(b"LIMIT = 10\n", "100755"),
    }
    found = [(rule, path) for _, rule, path in rules(world, changes)]
    assert found == [("executable", path) for path in ("new.sh", "run.sh", "src/util.py")]
    assert rules(world, {"run.sh": None}) == []
    assert rules(world, {"run.sh": b"#!/bin/sh\necho\n"}) == []


def test_outside_of_the_projects_part_is_confirmed_and_refusals_come_first(world: World) -> None:
    world.project = world.project.model_copy(update={"include": ("src",)})
    found = rules(world, {"src/x.py": b"x\n", "docs/new.md": b"n\n", "z.bin": b"\0"})
    assert found == [
        ("refuse", "binary", "z.bin"),
        ("confirm", "scope", "docs/new.md"),
        ("confirm", "scope", "z.bin"),
    ]


def test_content_that_cannot_be_read_is_refused() -> None:
    def gone(_: str) -> bytes:
        raise KeyError

    raw = [RawChange("000000", "100644", "0" * 40, "1" * 40, "A", "x")]
    assert [i.rule for i in check_policy(raw, (), gone)] == ["unreadable"]
