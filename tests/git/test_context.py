"""What the generator is shown, and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.context.build import Context, build_context
from navigator.context.repomap import RepoMap
from navigator.context.scope import fits
from navigator.context.source import TreeSource
from navigator.git.snapshot import uncommitted_paths
from tests.git.world import World, commit, git, make_repo

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


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("shop")
    repo = make_repo(folder / "repo", {"README.md": b"# thing\n", **FILES})
    (repo / "link.py").symlink_to("shop/cart.py")
    commit(repo, {})
    return World(repo, folder / "state")


def context(
    world: World, text: str, files: tuple[str, ...] = (), budget: int = 500, **settings: object
) -> Context:
    project = world.project.model_copy(update=settings)
    source = TreeSource(world.private, git(world.repo, "rev-parse", "HEAD"), project)
    return build_context(RepoMap(source), project, text, files, budget, words, shared_budget=budget)


def test_named_files_come_whole_with_conventions_and_tree(shop: World) -> None:
    found = context(shop, "Fix it", ("shop/mail.py", "legacy/old.py", "shop/mail.py"))
    assert found.conventions is not None and found.conventions.text == "Use tabs.\n"
    assert [(f.path, f.why) for f in found.files] == [("shop/mail.py", "named"), ("legacy/old.py", "named")]
    assert found.files[1].text == "ä = 1\n"
    assert "shop/cart.py" in found.tree.split("\n")
    assert "shop/cart.py:\n    1 class Cart:\n    2     def total_price(self):\n" in found.map
    parts = [f.text for f in (*found.files, *found.excerpts, found.conventions)]
    assert found.tokens == sum(words(text) for text in (*parts, found.tree, found.map, found.nearby))
    assert found.left_out == ()


def test_without_named_files_the_tasks_words_choose(shop: World) -> None:
    found = context(shop, "The total_price of a Cart is always zero")
    paths = [f.path for f in found.files]
    assert paths[0] == "shop/cart.py" and "shop/checkout.py" in paths
    assert "shop/mail.py" not in paths and "vendor/lib.py" not in paths
    assert found.files[0].why == "speaks of the task's words"


def test_a_path_or_a_file_name_in_the_task_chooses_it(shop: World) -> None:
    assert [f.path for f in context(shop, "Rewrite shop/mail.py").files] == ["shop/mail.py"]
    assert [f.path for f in context(shop, "Rewrite mail.py.").files] == ["shop/mail.py"]


def test_a_task_that_says_nothing_of_where_shows_what_others_lean_on(shop: World) -> None:
    found = context(shop, "Do something")
    paths = [f.path for f in found.files]
    assert paths == ["shop/cart.py"]
    assert found.files[0].why == "many files use it"
    assert context(shop, "Do something", budget=3).files == ()


def test_the_budget_holds_and_says_what_is_missing(shop: World) -> None:
    for budget in (0, 1, 5, 12, 20, 40):
        found = context(shop, "x", ("shop/cart.py", "shop/mail.py"), budget)
        assert found.tokens <= budget
        shown = {f.path for f in found.files}
        assert {left.path for left in found.left_out} >= {"shop/cart.py", "shop/mail.py"} - shown


def test_long_conventions_are_cut_at_a_line_and_a_long_tree_is_summed_up(shop: World) -> None:
    rules = b"".join(b"rule number %d\n" % n for n in range(100))
    commit(shop.repo, {"RULES.md": rules, **{f"many/part{n % 3}/f{n}.py": b"x\n" for n in range(90)}})
    try:
        found = context(shop, "x", ("shop/mail.py",), 100, conventions="RULES.md")
        assert found.conventions is not None
        assert found.conventions.text.splitlines() == [f"rule number {n}" for n in range(6)]
        assert found.left_out[0].why == "only its first 6 of 100 lines fit"
        tree = context(shop, "x", (), 250).tree.split("\n")
        assert "many/part0/ (30 files)" in tree and "shop/cart.py" in tree
    finally:
        git(shop.repo, "reset", "-q", "--hard", "HEAD~1")


def test_what_all_tasks_share_is_the_same_for_all_of_them(shop: World) -> None:
    def shared(text: str, files: tuple[str, ...], budget: int) -> tuple[object, ...]:
        source = TreeSource(shop.private, shop.facts.head_commit, shop.project)
        found = build_context(RepoMap(source), shop.project, text, files, budget, words, shared_budget=400)
        return found.conventions, found.tree, found.map

    first = shared("total_price", (), 400)
    assert all(first)
    assert first == shared("Something else " * 40, ("shop/mail.py",), 400)
    assert first == shared("x", (), 360), "a longer task leaves less room, and shares the same beginning"


def test_include_and_exclude_bound_what_is_shown_but_not_what_is_there(shop: World) -> None:
    settings = {"include": ("shop", "*.md"), "exclude": ("shop/mail.py",)}
    found = context(shop, "x", ("shop/mail.py", "vendor/lib.py", "shop/cart.py"), **settings)
    assert [(f.path, f.why) for f in found.files] == [("shop/cart.py", "named")]
    assert found.tree.split("\n") == ["AGENTS.md", "README.md", "shop/cart.py", "shop/checkout.py"]
    source = TreeSource(shop.private, shop.facts.head_commit, shop.project.model_copy(update=settings))
    assert source.read("vendor/lib.py") == FILES["vendor/lib.py"]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src", "src/a/b.py", True),
        ("src", "lib/src/a.py", True),
        ("/src", "lib/src/a.py", False),
        ("*.py", "deep/er/x.py", True),
        ("src/*.py", "src/deep/x.py", False),
        ("src/**/x.py", "src/x.py", True),
        ("a?c", "a/c", False),
        ("src", "srcs/a.py", False),
        ("[x", "[x", True),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert fits(path, (pattern,)) is expected


def test_uncommitted_work_is_named(world: World, tmp_path: Path) -> None:
    assert uncommitted_paths(world.facts) == ()
    (world.repo / "README.md").write_bytes(b"edited\n")
    (world.repo / "src" / "util.py").unlink()
    (world.repo / "sp ace ü.txt").write_bytes(b"new\n")
    (world.repo / "staged.txt").write_bytes(b"s\n")
    git(world.repo, "add", "staged.txt")
    git(world.repo, "mv", "docs/guide.txt", "docs/moved.txt")
    before = (world.repo / ".git" / "index").stat().st_mtime_ns
    changed = {"README.md", "src/util.py", "sp ace ü.txt", "staged.txt", "docs/guide.txt", "docs/moved.txt"}
    assert set(uncommitted_paths(world.facts)) == changed
    assert (world.repo / ".git" / "index").stat().st_mtime_ns == before
    assert len(uncommitted_paths(world.facts, limit=2)) == 2
