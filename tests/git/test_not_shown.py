"""What never reaches a model: ignored, out of scope, secret by name or content, not plain text. Real repositories."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from navigator.context.build import Context, build_context
from navigator.context.repomap import RepoMap
from navigator.context.scope import IGNORE_FILE, ignore_rules
from navigator.context.source import TreeSource
from tests.git.world import World, commit, git, write

TOKEN = b"key = 'AKIA" + b"QWERTYUIOPASDF23'\n"


def count(text: str) -> int:
    return len(text) // 3 + 1


def shown(world: World, base: str, text: str = "everything", files: tuple[str, ...] = ()) -> Context:
    source = TreeSource(world.private, base, world.project)
    return build_context(RepoMap(source), world.project, text, files, 24_000, count, shared_budget=24_000)


def everything(found: Context) -> str:
    parts = [*found.files, *found.excerpts, *([found.conventions] if found.conventions else [])]
    return "\n".join([found.tree, found.map, found.nearby, *(f"{part.path}\n{part.text}" for part in parts)])


def reasons(found: Context) -> dict[str, str]:
    return {left.path: left.why for left in found.left_out}


def test_navigatorignore_at_the_base_is_obeyed(world: World) -> None:
    files = {
        IGNORE_FILE: b"# not for models\nprivate/\n*.snap\n!keep.snap\n/only-here.py\n",
        "private/plan.py": b"def marker_private(): pass\n",
        "a.snap": b"marker_snap\n",
        "keep.snap": b"marker_keep\n",
        "only-here.py": b"def marker_root(): pass\n",
        "sub/only-here.py": b"def marker_sub(): pass\n",
    }
    base = commit(world.repo, files)
    named = ("private/plan.py", "a.snap", "only-here.py", "sub/only-here.py", "keep.snap")
    text = everything(shown(world, base, "marker", named))
    assert "marker_sub" in text and "marker_keep" in text
    rest = text.replace(files[IGNORE_FILE].decode(), "")
    hidden = ("marker_private", "marker_snap", "marker_root", "private/", "a.snap")
    assert not [word for word in hidden if word in rest]
    told = reasons(shown(world, base, "marker", named))
    assert {told[path] for path in named[:3]} == {f"named in {IGNORE_FILE}"}
    assert shown(world, base).hidden[f"named in {IGNORE_FILE}"] == 3
    # The checkout's own, later, rules do not count: the base's do.
    write(world.repo, {IGNORE_FILE: b""})
    assert "marker_private" not in everything(shown(world, base, "marker", named))


def test_a_link_in_place_of_the_ignore_file_is_no_ignore_file(world: World) -> None:
    commit(world.repo, {"rules": b"*.py\n"})
    (world.repo / IGNORE_FILE).symlink_to("rules")
    base = commit(world.repo, {})
    assert "src/app.py" in TreeSource(world.private, base, world.project).paths()


def test_symlinks_submodules_binaries_and_pointers_are_not_sent(world: World, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    git(tmp_path, "init", "-q", "-b", "main", str(inner))
    commit(inner, {"inside.py": b"def marker_inner(): pass\n"})
    (world.repo / "link.py").symlink_to("/etc/hostname")
    git(world.repo, "submodule", "add", "-q", str(inner), "module")
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:marker_lfs\nsize 5\n"
    base = commit(world.repo, {"image.py": b"marker\0binary", "large.bin": pointer})
    found = shown(world, base, "marker link module", ("link.py", "module", "image.py", "large.bin"))
    assert reasons(found) == {
        "link.py": "not a plain file",
        "module": "not a plain file",
        "image.py": "not text",
        "large.bin": "a pointer to a file in LFS",
    }
    text = everything(found)
    assert "marker_lfs" not in text and "marker_inner" not in text and "/etc/hostname" not in text


def test_a_key_in_a_file_keeps_the_whole_file_from_every_part_of_the_prompt(world: World) -> None:
    leaking = b"def unmistakable_name():\n    pass\n" + TOKEN
    base = commit(world.repo, {"src/leak.py": leaking, "AGENTS.md": b"Our key\n" + TOKEN})
    for files in ((), ("src/leak.py",)):
        found = shown(world, base, "Change unmistakable_name", files)
        assert "unmistakable_name" not in everything(found) and "src/leak.py" not in everything(found)
        assert reasons(found)["src/leak.py"] == "holds what looks like an AWS access key (line 3)"
        assert found.conventions is None and "AWS" in reasons(found)["AGENTS.md"]
        assert found.hidden["holds what looks like an AWS access key"] == 2


@given(st.binary(max_size=200))
def test_any_ignore_file_can_be_read(content: bytes) -> None:
    assert ignore_rules(content)("a/b.py") in (True, False)
