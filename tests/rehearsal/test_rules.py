"""Each rule does what it says, and leaves alone what only looks like its business."""

from __future__ import annotations

import ast

import pytest

from tests.scripted.writer.rules import MAX_PLACES, RULES, choose_rules
from tests.scripted.writer.work import interface_test

BY_NAME = {rule.name: rule for rule in RULES}
NONE: frozenset[int] = frozenset()


def changed(rule: str, text: str, *focus: str) -> str:
    return BY_NAME[rule].apply(text, frozenset(focus), NONE).text


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        ("none-comparisons", "if x == None: y()\n", "if x is None: y()\n"),
        ("none-comparisons", "z = None != x\n", "z = None is not x\n"),
        ("none-comparisons", "z = x==None\n", "z = x is None\n"),
        ("type-comparisons", "a = type(x) == int\n", "a = isinstance(x, int)\n"),
        ("type-comparisons", "a = type(x) is not m.T and b\n", "a = not isinstance(x, m.T) and b\n"),
        ("keys-calls", "for k in d.keys():\n    p(k)\n", "for k in d:\n    p(k)\n"),
        ("keys-calls", "a = k not in s.d.keys()\n", "a = k not in s.d\n"),
        ("open-encoding", "f = open(p)\n", 'f = open(p, encoding="utf-8")\n'),
        ("open-encoding", 'f = open(p, "w")\n', 'f = open(p, "w", encoding="utf-8")\n'),
        ("open-encoding", "t = path.read_text()\n", 't = path.read_text(encoding="utf-8")\n'),
        ("open-encoding", "path.write_text(t)\n", 'path.write_text(t, encoding="utf-8")\n'),
        ("request-timeouts", "import requests\nrequests.get(u)\n", "import requests\nrequests.get(u, timeout=10)\n"),
        ("safe-yaml", "import yaml\nyaml.load(f)\n", "import yaml\nyaml.safe_load(f)\n"),
        ("logger-warn", "self.logger.warn('x')\n", "self.logger.warning('x')\n"),
        ("bare-except", "try:\n    a()\nexcept:\n    b()\n", "try:\n    a()\nexcept Exception:\n    b()\n"),
        ("not-implemented", "raise NotImplemented('x')\n", "raise NotImplementedError('x')\n"),
        ("not-implemented", "raise NotImplemented\n", "raise NotImplementedError\n"),
        ("returns-nothing", "def f(a):\n    g(a)\n", "def f(a) -> None:\n    g(a)\n"),
        (
            "mutable-defaults",
            "def f(a, b=[]):\n    return b\n",
            "def f(a, b=None):\n    if b is None:\n        b = []\n    return b\n",
        ),
        (
            "mutable-defaults",
            'def f(*, b={}):\n\t"""Doc."""\n\treturn b\n',
            'def f(*, b=None):\n\t"""Doc."""\n\tif b is None:\n\t\tb = {}\n\treturn b\n',
        ),
        ("docstrings", "def load_all():\n    x()\n", 'def load_all():\n    """Load all."""\n    x()\n'),
        ("markdown-headings", "#Title\nText\n", "# Title\n\nText\n"),
        ("markdown-headings", "a\n\n## Two ##\n\nb\n", "a\n\n## Two\n\nb\n"),
        ("markdown-fences", "```\n$ ls\n```\n", "```console\n$ ls\n```\n"),
        ("markdown-fences", "~~~\nimport os\n~~~\n", "~~~python\nimport os\n~~~\n"),
        ("markdown-addresses", "See https://a.org/b.\n", "See <https://a.org/b>.\n"),
        ("markdown-trailing-spaces", "a   \nb\t\n", "a\nb\n"),
    ],
)  # fmt: skip
def test_what_a_rule_changes(rule: str, before: str, after: str) -> None:
    assert changed(rule, before) == after


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("none-comparisons", "q = session.query(T).filter(T.x == None)\n"),
        ("none-comparisons", "a = x == y == None\n"),
        ("type-comparisons", "a = type(x) == type(y)\n"),
        ("type-comparisons", "def type(x): ...\na = type(x) == int\n"),
        ("keys-calls", "for k in list(d.keys()):\n    del d[k]\n"),
        ("open-encoding", 'f = open(p, "rb")\n'),
        ("open-encoding", "f = open(p, mode)\n"),
        ("open-encoding", "from gzip import open\nf = open(p)\n"),
        ("open-encoding", "f = open(p, **options)\n"),
        ("bare-except", "try:\n    a()\nexcept:\n    b()\n    raise\n"),
        ("not-implemented", "def __eq__(self, o):\n    return NotImplemented\n"),
        ("returns-nothing", "def f():\n    return 1\n"),
        ("returns-nothing", "def f():\n    yield\n"),
        ("returns-nothing", "def f():\n    raise ValueError\n"),
        ("returns-nothing", "def f():\n    ...\n"),
        ("mutable-defaults", "def f(b=()):\n    return b\n"),
        ("docstrings", "def _f():\n    x()\n"),
        ("docstrings", 'def f():\n    """Doc."""\n'),
        ("docstrings", "def test_f():\n    x()\n"),
        ("safe-yaml", "yaml.load(f, Loader=L)\n"),
        ("request-timeouts", "requests.get(u, timeout=3)\n"),
        ("request-timeouts", "requests.get(u, **options)\n"),
        ("markdown-headings", "```\n#Comment\n```\n"),
        ("markdown-headings", "#123 is an issue\n"),
        ("markdown-addresses", "`https://a.org` and (https://b.org) and <https://c.org>\n"),
        ("markdown-addresses", "[x]: https://a.org\n"),
        ("markdown-trailing-spaces", "break  \nhere\n"),
        ("markdown-trailing-spaces", "```\ncode   \n```\n"),
    ],
)
def test_what_a_rule_leaves_alone(rule: str, text: str) -> None:
    assert changed(rule, text) == text


def test_a_docstring_tells_defaults_and_errors() -> None:
    text = (
        "class A:\n    def get_row(self, n: int = 3):\n        if n < 0:\n            raise ValueError(n)\n"
    )

    result = changed("docstrings", text)

    assert ast.get_docstring(ast.parse(result).body[0].body[0]) == (
        "Get row.\n\nArgs:\n    n: of type int; 3 unless given.\n\nRaises:\n    ValueError: see the checks in the body."
    )


def test_an_annotated_default_becomes_optional_where_annotations_are_lazy() -> None:
    lazy = "from __future__ import annotations\ndef f(b: list[int] = []):\n    return b\n"

    assert "b: list[int] | None = None" in changed("mutable-defaults", lazy)
    assert "b: list[int] = None" in changed("mutable-defaults", lazy.partition("\n")[2])


def test_a_multiline_call_with_trailing_comma_stays_tidy() -> None:
    text = 'f = open(\n    p,\n    "w",\n)\n'

    assert changed("open-encoding", text) == 'f = open(\n    p,\n    "w",\n    encoding="utf-8",\n)\n'


def test_focus_and_skip() -> None:
    text = "def a():\n    return x == None\n\ndef b():\n    return y == None\n"
    rule = BY_NAME["none-comparisons"]

    assert "y == None" in rule.apply(text, frozenset({"a"}), NONE).text
    assert "x == None" in rule.apply(text, frozenset(), frozenset({0})).text


def test_a_rule_stops_at_its_limit() -> None:
    outcome = BY_NAME["none-comparisons"].apply("x == None\n" * (MAX_PLACES + 5), frozenset(), NONE)

    assert (outcome.changed, outcome.seen) == (MAX_PLACES, MAX_PLACES + 5)


def test_everything_else_stays_character_for_character() -> None:
    text = "\ufeff# top\r\nx  =  1 ;y=2\r\nif x == None : pass  # odd\r\n"

    assert changed("none-comparisons", text) == text.replace("== None", "is None")


@pytest.mark.parametrize(
    ("task", "kind", "rule", "asked"),
    [
        ("Fix the comparisons to None", "fix", "none-comparisons", True),
        ("No bare except here", "fix", "bare-except", True),
        ("Write docstrings", "implement", "docstrings", True),
        ("Make it better", "docs", "docstrings", False),
        ("Make it better", "security", "safe-yaml", False),
        ("Make it better", "fix", "mutable-defaults", False),
    ],
)
def test_the_words_of_a_task_choose_the_rule(task: str, kind: str, rule: str, asked: bool) -> None:
    rules, named = choose_rules(task, kind)

    assert (rules[0].name, named) == (rule, asked)


def test_the_developers_note_outweighs_the_task() -> None:
    rules, _ = choose_rules("Write docstrings for everything", "docs", note="no, only the mutable defaults")

    assert rules[0].name == "mutable-defaults"


def test_an_interface_test_names_every_public_function() -> None:
    source = interface_test(
        "a.b", "import json\ndef f(x, *y, z=1, **k): ...\ndef _g(): ...\n", frozenset({"a"})
    )

    assert source is not None
    assert '["x", "y", "z", "k"]' in source
    assert "_g" not in source


@pytest.mark.parametrize("text", ["import numpy\ndef f(): ...\n", "x = 1\n", "def f(:\n"])
def test_no_interface_test_where_it_might_not_run(text: str) -> None:
    assert interface_test("a.b", text, frozenset({"a"})) is None
