"""A writer's looks: what requests mean, what they are answered with, and what they can never reach."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.context.build import Context
from navigator.context.looker import BadExpression, Looker, matching_lines
from navigator.context.looks import LookAnswer, LookRequest, NotARequest, ShownSoFar, read_requests
from navigator.context.repomap import RepoMap
from navigator.context.source import TreeSource
from navigator.edits.parser import parse_answer
from navigator.git.private import PrivateRepo
from navigator.model.models import Project
from navigator.model.states import LookKind, LookOutcome
from tests.journey.support import git, make_repository

SHAPES = '''"""Shapes."""


class Square:
    def area(self):
        return self.side**2


class Circle:
    def area(self):
        return 3.14 * self.radius**2


def total(shapes):
    return sum(shape.area() for shape in shapes)
'''
FILES = {
    "shapes.py": SHAPES,
    "test_shapes.py": "import shapes\n",
    "use/report.py": "from shapes import total\n\n\ndef report(shapes):\n    print(total(shapes))\n",
    "use/long.py": "".join(f"def step_{n}():\n    return {n}\n\n\n" for n in range(400)),
    "use/steps.py": "class Steps:\n    name = ''\n\n"
    + "".join(f"    def move_{n}(self):\n        return {n}\n\n" for n in range(200)),
    "use/changes.txt": "".join(f"entry {n:>6} of the log\n" for n in range(1, 20_001)),
    "use/wide.py": "x = '" + "a" * 3000 + "total'\n",
    "deploy.pem": "total secret\n",
    "dist/bundle.min.js": "total()\n",
    ".navigatorignore": "private/\n",
    "private/plan.py": "total = 1\n",
    "empty.py": "",
}


def count(text: str) -> int:
    return len(text) // 4


@pytest.fixture(scope="module")
def map_of(tmp_path_factory: pytest.TempPathFactory) -> RepoMap:
    folder = tmp_path_factory.mktemp("looking")
    path = make_repository(folder / "code", {name: text.encode() for name, text in FILES.items()})
    project = Project(id=1, name="code", path=str(path))
    private = PrivateRepo.open(folder / "private", project)
    return RepoMap(TreeSource(private, git(path, "rev-parse", "HEAD"), project))


def looker(map_of: RepoMap, tokens: int = 4000) -> Looker:
    return Looker(map_of, "Sum the areas", (), Context(), tokens, count)


def one(answers: Sequence[LookAnswer]) -> tuple[LookOutcome, str, str]:
    (answer,) = answers
    return answer.outcome, answer.note, "".join(piece.text for piece in answer.pieces)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("read a/b.py", LookRequest(LookKind.READ, "a/b.py")),
        ("- `read ./a/b.py:10-20`", LookRequest(LookKind.READ, "a/b.py", 10, 20)),
        ("READ a.py:L3", LookRequest(LookKind.READ, "a.py", 3, 3)),
        (r"search def \w+\(", LookRequest(LookKind.SEARCH, r"def \w+\(")),
        ("search total src/*.py", LookRequest(LookKind.SEARCH, "total", glob="src/*.py")),
        ('search "two words" *.go', LookRequest(LookKind.SEARCH, "two words", glob="*.go")),
        ("search two words", LookRequest(LookKind.SEARCH, "two words")),
        ("list .", LookRequest(LookKind.LIST, "")),
        ("list", LookRequest(LookKind.LIST, "")),
        ("definition Square.area()", LookRequest(LookKind.DEFINITION, "Square.area")),
        ("uses total", LookRequest(LookKind.USES, "total")),
    ],
)
def test_a_request_is_read_as_models_write_it(line: str, meant: LookRequest) -> None:
    assert read_requests([line]) == [meant]


def test_what_is_no_request_says_why() -> None:
    for line in ("open a.py", "read", "uses ---", "read a.py:9-3", "search " + "x" * 400, "rm -rf /"):
        (found,) = read_requests([line])
        assert isinstance(found, NotARequest) and found.problem, line


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 12)), max_size=12),
    st.integers(1, 70),
    st.integers(0, 20),
)
def test_lines_are_missing_until_they_are_shown(added: list[tuple[int, int]], first: int, more: int) -> None:
    shown, truth = ShownSoFar(), set()
    for start, length in added:
        shown.add("f", start, start + length)
        truth |= set(range(start, start + length + 1))
    missing = {n for a, b in shown.missing("f", first, first + more) for n in range(a, b + 1)}
    assert missing == set(range(first, first + more + 1)) - truth


def test_an_edit_beside_a_look_is_an_edit_and_a_path_above_a_block_is_kept() -> None:
    answer = parse_answer("<<<<<<< LOOK\nread a.py\n\na.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n")
    assert [block.path for block in answer.blocks] == ["a.py"]
    assert not answer.asks_to_look
    assert answer.looks == ("read a.py",)
    assert parse_answer("<<<<<<< LOOK\nread a.py").asks_to_look


def test_lines_are_shown_once(map_of: RepoMap) -> None:
    looks = looker(map_of)
    square = "class Square:\n    def area(self):\n        return self.side**2\n"
    assert one(looks.answer(["read shapes.py:4-6"]))[2] == square
    outcome, note, text = one(looks.answer(["read shapes.py"]))
    assert "class Square" not in text and "def total" in text
    assert outcome is LookOutcome.SHOWN and "shown above" in note
    assert one(looks.answer(["read shapes.py:1-3"]))[0] is LookOutcome.REPEATED
    outcome, note, _ = one(looks.answer(["read shapes.py"]))
    assert (outcome, note) == (LookOutcome.REPEATED, "it was answered above; the files are the same.")
    assert looks.seen_whole("shapes.py")
    assert not looks.seen_whole("use/report.py")


def test_a_definition_is_found_within_its_class_and_uses_by_the_word(map_of: RepoMap) -> None:
    looks = looker(map_of)
    text = one(looks.answer(["definition Circle.area"]))[2]
    assert "radius" in text and "class Square" not in text
    outcome, note, text = one(looks.answer(["uses total"]))
    assert (outcome, note) == (LookOutcome.SHOWN, "3 lines in 2 files")
    assert "     1| from shapes import total" in text
    assert one(looks.answer(["definition nobody"]))[0] is LookOutcome.NOTHING


def test_what_is_withheld_is_refused_and_not_searched(map_of: RepoMap) -> None:
    outside = ("../../etc/passwd", "/etc/passwd", ".git/HEAD", "use/nothing.py")
    for path in ("deploy.pem", "private/plan.py", *outside):
        outcome, note, text = one(looker(map_of).answer([f"read {path}"]))
        assert (outcome, text) == (LookOutcome.REFUSED, "") and note, path
    _, note, text = one(looker(map_of).answer(["search total"]))
    assert not [word for word in ("secret", "private", "bundle") if word in text]
    assert "bundle" in one(looker(map_of).answer(["search total *.min.js"]))[2]
    assert note == "3 lines in 2 files"


def test_answers_stay_within_the_tokens(map_of: RepoMap) -> None:
    looks = looker(map_of, tokens=1000)
    for asked in (
        ["read use/long.py", "search return"],
        ["list use", "uses total", "read shapes.py"],
        ["read use/report.py"],
    ):
        looks.answer(asked)
    assert looks.used <= 1000
    assert one(looks.answer(["read use/long.py:1-1600"]))[0] is LookOutcome.CUT
    assert one(looks.answer(["read use/long.py:1500-1600"]))[0] is LookOutcome.NO_ROOM
    assert looks.used <= 1000
    outcome, note, _ = one(looker(map_of, tokens=1000).answer(["read use/long.py"]))
    assert outcome is LookOutcome.CUT
    assert "1600 lines" in note


def test_a_bad_expression_is_refused_with_its_reason_and_none_takes_for_ever() -> None:
    for expression in ("(", "[z-a]", "(?P<a", "a" * 10 + "{99999999999}"):
        with pytest.raises(BadExpression, match="no regular expression"):
            matching_lines(expression, ["text"])
    assert matching_lines("(a+)+$", ["a" * 60 + "b"]) == [[]]
    with pytest.raises(BadExpression, match="in linear time"):
        matching_lines(r"(a+)\1", ["aa"])
    assert matching_lines("b$", ["ab\nc\nb"]) == [[1, 3]]


def test_a_search_with_many_matches_says_where_in_few_tokens(map_of: RepoMap) -> None:
    looks = looker(map_of, tokens=4000)
    outcome, note, text = one(looks.answer(["search return"]))
    assert looks.used <= 400 + 30
    assert {"use/long.py", "use/steps.py", "shapes.py"} <= {line.split(" (")[0] for line in text.splitlines()}
    assert "more" in text
    assert outcome is LookOutcome.SHOWN
    assert note.startswith("603 lines")


def test_what_was_shown_of_a_file_that_does_not_fit_is_not_chosen_again(map_of: RepoMap) -> None:
    looks = looker(map_of, tokens=4000)
    looks.answer(["read use/long.py:1-120"])
    one(looks.answer(["read use/long.py"]))
    seen = looks.shown.lines["use/long.py"]
    assert sum(last - first + 1 for first, last in seen) > 120
