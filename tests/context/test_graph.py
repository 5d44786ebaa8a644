"""Who speaks of whom, what imports mean, and the walk over it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.context.repomap.extract import extract, language_of
from navigator.context.repomap.files import Definition, MapFile
from navigator.context.repomap.graph import Edges, Graph, Resolver, pagerank


def file(path: str, text: str) -> MapFile:
    """A file of the map as reading it would make it."""
    tags = extract(language_of(path), text.encode())
    return MapFile(
        path,
        len(text),
        language_of(path),
        tags["lines"],
        tuple(Definition(*entry) for entry in tags["defs"]),
        tags["refs"],
        tags["terms"],
        tuple(tags["imports"]),
    )


def names(files: list[MapFile], edges: list[tuple[int, float]]) -> list[str]:
    return [files[number].path for number, _ in edges]


def test_a_use_leads_to_the_definition_and_back() -> None:
    files = [
        file("shop/cart.py", "class ShoppingCart:\n    pass\n"),
        file("shop/pay.py", "def pay():\n    return ShoppingCart()\n"),
        file("other.go", "package x\nfunc f() { ShoppingCart() }\n"),
    ]
    graph = Graph(files)
    assert names(files, graph.uses[1]) == ["shop/cart.py"]
    assert names(files, graph.used_by[0]) == ["shop/pay.py"]
    assert graph.uses[2] == [], "another language's class of the same name is another class"


def test_an_import_says_which_of_two_is_meant() -> None:
    files = [
        file("a/tools.py", "def helper():\n    pass\n"),
        file("b/tools.py", "def helper():\n    pass\n"),
        file("main.py", "from b.tools import helper\nhelper()\n"),
    ]
    assert names(files, Graph(files).uses[2]) == ["b/tools.py"]


def test_compound_names_weigh_more_than_private_and_widespread_ones() -> None:
    common = [file(f"c{n}.py", "def common():\n    pass\n") for n in range(7)]
    files = [
        file("long.py", "def shopping_cart():\n    pass\n"),
        file("private.py", "def _hidden():\n    pass\n"),
        *common,
        file("user.py", "shopping_cart()\n_hidden()\ncommon()\n"),
    ]
    weights = dict(Graph(files).uses[len(files) - 1])
    assert weights[0] > weights[1] > max(weights[n] for n in range(2, 9))


@pytest.mark.parametrize(
    ("at", "text", "meant"),
    [
        ("pkg/sub/a.py", ".b", "pkg/sub/b.py"),
        ("pkg/sub/a.py", "..top", "pkg/top.py"),
        ("pkg/sub/a.py", "pkg.sub", "pkg/sub/__init__.py"),
        ("pkg/sub/a.py", "pkg.sub.b.Name", "pkg/sub/b.py"),
        ("pkg/sub/a.py", "os.path", ""),
        ("web/x.ts", "./y", "web/y.tsx"),
        ("web/x.ts", "./y.js", "web/y.tsx"),
        ("web/x.ts", "../lib", "lib/index.js"),
        ("web/x.ts", "react", ""),
        ("cmd/main.go", "example.org/thing/server", "server/run.go"),
        ("src/lib.rs", "parser", "src/parser.rs"),
        ("src/parser.rs", "state", "src/parser/state.rs"),
        ("core/a.c", "core/a.h", "core/a.h"),
        ("core/a.c", "stdio.h", ""),
    ],
)
def test_imports(at: str, text: str, meant: str) -> None:
    paths = [
        "pkg/sub/a.py",
        "pkg/sub/b.py",
        "pkg/sub/__init__.py",
        "pkg/top.py",
        "web/x.ts",
        "web/y.tsx",
        "lib/index.js",
        "cmd/main.go",
        "server/run.go",
        "src/lib.rs",
        "src/parser.rs",
        "src/parser/state.rs",
        "core/a.c",
        "core/a.h",
    ]
    resolver = Resolver((path, language_of(path)) for path in paths)
    found = resolver.resolve(paths.index(at), language_of(at), text)
    assert [paths[number] for number in found] == ([meant] if meant else [])


def graphs() -> st.SearchStrategy[Edges]:
    def normal(size: int) -> st.SearchStrategy[Edges]:
        row = st.dictionaries(st.integers(0, size - 1), st.floats(0.01, 10), max_size=size)
        return st.lists(
            row.map(lambda out: [(n, w / sum(out.values())) for n, w in out.items()]),
            min_size=size,
            max_size=size,
        )

    return st.integers(1, 8).flatmap(normal)


@given(graphs())
def test_ranks_are_a_distribution_and_a_fixed_point(edges: Edges) -> None:
    size = len(edges)
    ranks = pagerank(edges)
    assert math.isclose(sum(ranks), 1.0, abs_tol=1e-9) and min(ranks) > 0
    lost = 0.15 + 0.85 * sum(rank for rank, out in zip(ranks, edges, strict=True) if not out)
    for number in range(size):
        into = sum(ranks[n] * w for n, out in enumerate(edges) for other, w in out if other == number)
        assert math.isclose(ranks[number], lost / size + 0.85 * into, abs_tol=0.01)


def test_a_walk_from_somewhere_stays_near() -> None:
    chain: Edges = [[(1, 1.0)], [(2, 1.0)], [], [(4, 1.0)], []]
    ranks = pagerank(chain, {0: 2.0})
    assert ranks[0] > ranks[1] > ranks[2] > 0 and ranks[3] == ranks[4] == 0
    assert pagerank([]) == [] and pagerank(chain, {}) == pagerank(chain)
