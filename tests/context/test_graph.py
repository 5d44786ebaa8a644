"""Who speaks of whom."""

from __future__ import annotations

from navigator.context.files import Definition, MapFile
from navigator.context.repomap import Graph
from navigator.context.tags import extract, language_of


def file(path: str, text: str) -> MapFile:
    """A file of the map as reading it would make it."""
    language = language_of(path)
    tags = extract(language, text.encode())
    definitions = tuple(Definition(*entry) for entry in tags["defs"])
    return MapFile(path, len(text), language, definitions, tags["refs"], tags["terms"])


def test_a_use_leads_to_the_definition() -> None:
    files = [
        file("shop/cart.py", "class ShoppingCart:\n    pass\n"),
        file("shop/pay.py", "def pay():\n    return ShoppingCart()\n"),
        file("other.go", "package x\nfunc f() { ShoppingCart() }\n"),
    ]
    graph = Graph(files)
    assert graph.defined_in["ShoppingCart"] == [0]
    assert graph.central == [1.0, 0.0, 0.0], "another language's class of the same name is another class"


def test_compound_names_weigh_more_than_private_and_widespread_ones() -> None:
    common = [file(f"c{n}.py", "def common():\n    pass\n") for n in range(7)]
    files = [
        file("long.py", "def shopping_cart():\n    pass\n"),
        file("private.py", "def _hidden():\n    pass\n"),
        *common,
        file("user.py", "shopping_cart()\n_hidden()\ncommon()\n"),
    ]
    weights = Graph(files).central
    assert weights[0] > weights[1] > max(weights[2:9]) > weights[9] == 0
