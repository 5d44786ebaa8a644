"""What the generator is shown, and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.context.build import Context, build_context
from navigator.git.scope import fits, is_secret
from navigator.git.snapshot import uncommitted_paths
from navigator.git.source import TreeSource
from tests.git.world import World, commit, git

FILES = {
    "AGENTS.md": b"Use tabs.\n",
    "shop/cart.py": b"class Cart:\n    def total_price(self):\n        return 0\n",
    "shop/checkout.py": b"from shop.cart import Cart\n\ndef pay(cart):\n    return cart.total_price()\n",
    "shop/mail.py": b"def send_mail():\n    pass\n",
    "legacy/old.py": "ä = 1\r\n".encode("latin-1"),
    "logo.png": b"\x89PNG\0",
    ".env": b"KEY=1\n",
    ".env.example": b"KEY=\n",
    "deploy/id_rsa": b"x\n",
    "deploy/server.pem": b"x\n",
    "deploy/key.txt": b"-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n",
    "vendor/lib.py": b"def total_price(): pass\n",
}


def words(text: str) -> int:
    return len(text.split())


def context(world: World, text: str, files: tuple[str, ...] = (), budget: int = 500) -> Context:
    base = commit(world.repo, FILES)
    if not (world.repo / "link.py").is_symlink():
        (world.repo / "link.py").symlink_to("shop/cart.py")
    base = commit(world.repo, {})
    world.private.pin_base(base)
    return build_context(
        TreeSource(world.private, base, world.project), world.project, text, files, budget, words
    )


def test_named_files_come_whole_with_conventions_and_tree(world: World) -> None:
    found = context(world, "Fix it", ("shop/mail.py", "legacy/old.py", "shop/mail.py"))
    assert found.conventions is not None and found.conventions.text == "Use tabs.\n"
    assert [(f.path, f.why) for f in found.files] == [("shop/mail.py", "named"), ("legacy/old.py", "named")]
    assert found.files[1].text == "ä = 1\n"
    assert "shop/cart.py" in found.tree.split("\n")
    assert "shop/cart.py:\n    1 class Cart:\n    2     def total_price(self):\n" in found.map
    parts = [f.text for f in (*found.files, *found.excerpts, found.conventions)]
    assert found.tokens == sum(words(text) for text in (*parts, found.tree, found.map, found.nearby))
    assert found.left_out == ()


def test_secrets_are_neither_listed_nor_sent(world: World) -> None:
    named = (
        ".env",
        "deploy/id_rsa",
        "deploy/server.pem",
        "deploy/key.txt",
        "logo.png",
        "link.py",
        "no/such.py",
    )
    found = context(world, "Rotate KEY in .env and deploy/key.txt", named)
    assert [f.path for f in found.files] == [".env.example"]
    assert {left.path: left.why for left in found.left_out} == {
        ".env": "may hold secrets",
        "deploy/id_rsa": "may hold secrets",
        "deploy/server.pem": "may hold secrets",
        "deploy/key.txt": "holds a private key (line 1)",
        "logo.png": "not text",
        "link.py": "not a plain file",
        "no/such.py": "no such file in the base",
    }
    listed = found.tree.split("\n")
    assert ".env.example" in listed
    assert not {".env", "deploy/id_rsa", "deploy/server.pem", "link.py"} & set(listed)


def test_without_named_files_the_tasks_words_choose(world: World) -> None:
    found = context(world, "The total_price of a Cart is always zero")
    paths = [f.path for f in found.files]
    assert paths[0] == "shop/cart.py" and "shop/checkout.py" in paths
    assert "shop/mail.py" not in paths and "vendor/lib.py" not in paths
    assert "total_price" in found.files[0].why


def test_a_path_or_a_file_name_in_the_task_chooses_it(world: World) -> None:
    assert [f.path for f in context(world, "Rewrite shop/mail.py").files] == ["shop/mail.py"]
    assert [f.path for f in context(world, "Rewrite mail.py.").files] == ["shop/mail.py"]


def test_a_task_that_says_nothing_of_where_shows_what_others_lean_on(world: World) -> None:
    found = context(world, "Do something")
    paths = [f.path for f in found.files]
    assert paths == ["shop/cart.py"]
    assert found.files[0].why == "many files use it"
    assert context(world, "Do something", budget=3).files == ()


def test_words_of_a_task_are_no_options_and_no_patterns(world: World) -> None:
    found = context(world, "Use `--open-files-in-pager=evil` and `-O` and `.*` and `$(x)` for total_price")
    assert found.files[0].path == "shop/cart.py"


def test_the_budget_holds_and_says_what_is_missing(world: World) -> None:
    for budget in (0, 1, 5, 12, 20, 40):
        found = context(world, "x", ("shop/cart.py", "shop/mail.py"), budget)
        assert found.tokens <= budget
        shown = {f.path for f in found.files}
        assert {left.path for left in found.left_out} >= {"shop/cart.py", "shop/mail.py"} - shown


def test_long_conventions_are_cut_at_a_line(world: World) -> None:
    commit(world.repo, {"RULES.md": b"".join(b"rule number %d\n" % n for n in range(100))})
    world.project = world.project.model_copy(update={"conventions": "RULES.md"})
    found = context(world, "x", ("shop/mail.py",), 100)
    assert found.conventions is not None
    assert found.conventions.text.splitlines() == [f"rule number {n}" for n in range(6)]
    assert found.left_out[0].why == "only its first 6 of 100 lines fit"


def test_a_long_tree_is_summed_up(world: World) -> None:
    commit(world.repo, {f"many/part{n % 3}/f{n}.py": b"x\n" for n in range(90)})
    found = context(world, "x", (), 250)
    assert "many/part0/ (30 files)" in found.tree.split("\n")
    assert "shop/cart.py" in found.tree.split("\n")


def test_include_and_exclude_bound_what_is_shown_but_not_what_is_there(world: World) -> None:
    world.project = world.project.model_copy(
        update={"include": ("shop", "*.md"), "exclude": ("shop/mail.py",)}
    )
    found = context(world, "x", ("shop/mail.py", "vendor/lib.py", "shop/cart.py"))
    assert [(f.path, f.why) for f in found.files] == [
        ("shop/cart.py", "named"),
        ("shop/checkout.py", "near a named file"),
    ]
    assert found.tree.split("\n") == ["AGENTS.md", "README.md", "shop/cart.py", "shop/checkout.py"]
    source = TreeSource(world.private, world.facts.head_commit, world.project)
    assert source.read("vendor/lib.py") == FILES["vendor/lib.py"]


def test_source_answers_for_everything_in_the_tree(world: World) -> None:
    base = commit(world.repo, {"d/e/f.txt": b"f\n"})
    world.private.pin_base(base)
    source: TreeSource = TreeSource(world.private, base, world.project)
    assert source.read("d/e/f.txt") == b"f\n" and source.read("d") is None and source.read("nothing") is None
    assert (source.mode("d/e/f.txt"), source.mode("d/e"), source.mode("x")) == ("100644", "040000", None)
    assert "d/e/f.txt" in source.paths()


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src", "src/a/b.py", True),
        ("src/", "src/a.py", True),
        ("src", "lib/src/a.py", True),
        ("/src", "lib/src/a.py", False),
        ("lib/src", "lib/src/a.py", True),
        ("*.py", "deep/er/x.py", True),
        ("src/*.py", "src/deep/x.py", False),
        ("src/**/x.py", "src/x.py", True),
        ("src/**", "src/a/b", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("src", "srcs/a.py", False),
        ("[x", "[x", True),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert fits(path, (pattern,)) is expected


def test_what_a_secret_is() -> None:
    for path in (
        ".env",
        "a/.env.local",
        "x.pem",
        "id_rsa",
        ".ssh/config",
        "credentials.json",
        "prod.env",
        "a/.netrc",
    ):
        assert is_secret(path), path
    for path in (
        ".env.example",
        "id_rsa.pub",
        "env.py",
        "keys.py",
        "credentials.py",
        "src/key.ts",
        "secrets.py",
    ):
        assert not is_secret(path), path


def test_uncommitted_work_is_named(world: World, tmp_path: Path) -> None:
    assert uncommitted_paths(world.facts) == ()
    (world.repo / "README.md").write_bytes(b"edited\n")
    (world.repo / "src" / "util.py").unlink()
    (world.repo / "sp ace ü.txt").write_bytes(b"new\n")
    (world.repo / "staged.txt").write_bytes(b"s\n")
    git(world.repo, "add", "staged.txt")
    git(world.repo, "mv", "docs/guide.txt", "docs/moved.txt")
    before = (world.repo / ".git" / "index").stat().st_mtime_ns
    assert set(uncommitted_paths(world.facts)) == {
        "README.md",
        "src/util.py",
        "sp ace ü.txt",
        "staged.txt",
        "docs/guide.txt",
        "docs/moved.txt",
    }
    assert (world.repo / ".git" / "index").stat().st_mtime_ns == before
    assert len(uncommitted_paths(world.facts, limit=2)) == 2
