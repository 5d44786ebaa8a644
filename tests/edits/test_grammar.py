"""What is read as a block, a path and prose."""

from __future__ import annotations

import pytest

from navigator.edits.parser import BlockKind, marker_length, parse_answer
from tests.edits.support import Case, check, delete, edit, rename, whole

A = "one\ntwo\nthree\n"
DONE = {"a.txt": "one\n2\nthree\n"}
BODY = "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n"


def fits(name: str, answer: str, path: str = "a.txt") -> Case:
    return Case(name, answer, {path: A}, {path: "one\n2\nthree\n"}, ("exact",))


PATH_LINES = [
    fits("plain path", f"a.txt\n{BODY}"),
    fits("prose before and after", f"I change the second line.\n\na.txt\n{BODY}\nThat is all."),
    fits("blank lines between path and opener", f"a.txt\n\n\n{BODY}"),
    fits("path in backticks", f"`a.txt`\n{BODY}"),
    fits("path in bold", f"**a.txt**\n{BODY}"),
    fits("path as a heading", f"### a.txt\n{BODY}"),
    fits("path as a closed heading", f"## a.txt ##\n{BODY}"),
    fits("path as a bold heading in backticks", f"#### **`a.txt`**\n{BODY}"),
    fits("path in double quotes", f'"a.txt"\n{BODY}'),
    fits("path in single quotes", f"'a.txt'\n{BODY}"),
    fits("path in curly quotes", f"\u201ca.txt\u201d\n{BODY}"),
    fits("path as a comment", f"# a.txt\n{BODY}"),
    fits("path as a starred list item", f"* a.txt\n{BODY}"),
    fits("path indented", f"   a.txt  \n{BODY}"),
    fits("path from ./", f"./a.txt\n{BODY}"),
    fits("path with spaces", f"docs/my notes/a b.txt\n{BODY}", "docs/my notes/a b.txt"),
    fits("path with spaces in a heading", f"### docs/my notes.txt\n{BODY}", "docs/my notes.txt"),
    fits("path with brackets", f"app/[id]/(group)/page.txt\n{BODY}", "app/[id]/(group)/page.txt"),
    fits("path in another script", f"d\u00f6cs/\u6587\u4ef6.txt\n{BODY}", "d\u00f6cs/\u6587\u4ef6.txt"),
    fits("dotfile", f".gitignore\n{BODY}", ".gitignore"),
    fits("file in .github", f".github/workflows/x.txt\n{BODY}", ".github/workflows/x.txt"),
    fits("byte order mark before the answer", f"\ufeffa.txt\n{BODY}"),
    fits("CRLF answer", f"Text.\n\na.txt\n{BODY}".replace("\n", "\r\n")),
    fits("no newline after the closer", f"a.txt\n{BODY}".removesuffix("\n")),
    fits("spaces after markers", "a.txt\n<<<<<<< SEARCH  \ntwo\n======= \n2\n>>>>>>> REPLACE\t\n"),
]

FENCES = [
    fits("fence round the block", f"a.txt\n```\n{BODY}```\n"),
    fits("fence with a language", f"a.txt\n```python\n{BODY}```\n"),
    fits("fence round path and block", f"```\na.txt\n{BODY}```\n"),
    fits("tilde fence", f"a.txt\n~~~text\n{BODY}~~~\n"),
    fits("blank line and fence", f"a.txt\n\n```diff\n\n{BODY}```\n"),
    fits("fence never closed", f"a.txt\n```\n{BODY}"),
    fits("four backticks", f"````text\na.txt\n{BODY}````\n"),
    fits("prose fence before", f"Run this:\n```\npytest -q\n```\nThen:\na.txt\n{BODY}"),
    Case(
        "fences inside a block are content",
        edit("r.md", "two", "```python\nx\n```\n\n~~~\ny\n~~~"),
        {"r.md": A},
        {"r.md": "one\n```python\nx\n```\n\n~~~\ny\n~~~\nthree\n"},
        ("exact",),
    ),
    Case(
        "two blocks in one fence",
        f"```\na.txt\n{BODY}b.txt\n{BODY}```\n",
        {"a.txt": A, "b.txt": A},
        {"a.txt": "one\n2\nthree\n", "b.txt": "one\n2\nthree\n"},
        ("exact", "exact"),
    ),
]

DIVIDERS = [
    Case(
        "a divider line in REPLACE is content",
        edit("a.txt", "two", "x\n=======\ny"),
        {"a.txt": A},
        {"a.txt": "one\nx\n=======\ny\nthree\n"},
        ("exact",),
    ),
    Case(
        "two divider lines in REPLACE",
        edit("a.txt", "two", "Title 1\n=======\ny\nTitle 2\n=======\nz"),
        {"a.txt": A},
        {"a.txt": "one\nTitle 1\n=======\ny\nTitle 2\n=======\nz\nthree\n"},
        ("exact",),
    ),
    Case(
        "a new file with a divider line",
        edit("new.md", "", "Heading\n=======\n\ntext"),
        {},
        {"new.md": "Heading\n=======\n\ntext\n"},
        ("new_file",),
    ),
    Case(
        "a divider line in SEARCH is ambiguous",
        edit("a.md", "Heading\n=======\ntext", "Heading\n=======\nnew"),
        {"a.md": "Heading\n=======\ntext\n"},
        codes=("MARKER",),
        says=("3 divider lines", "nine-character"),
    ),
    Case(
        "nine characters settle it",
        edit("a.md", "Heading\n=======\ntext", "Heading\n=======\nnew", length=9),
        {"a.md": "Heading\n=======\ntext\n"},
        {"a.md": "Heading\n=======\nnew\n"},
        ("exact",),
    ),
    Case(
        "SEARCH that begins with a divider line",
        edit("a.md", "=======\ntext", "=======\nnew"),
        {"a.md": "Heading\n=======\ntext\n"},
        {"a.md": "Heading\n=======\nnew\n"},
        ("exact",),
    ),
    Case(
        "SEARCH that begins with a divider line, REPLACE without",
        edit("a.md", "=======\ntext", "-------\nnew"),
        {"a.md": "Heading\n=======\ntext\n"},
        {"a.md": "Heading\n-------\nnew\n"},
        ("exact",),
    ),
    Case(
        "six characters are no divider",
        "a.txt\n<<<<<<< SEARCH\ntwo\n======\n2\n>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("no divider", '"======"'),
    ),
    Case(
        "an indented divider is none",
        "a.txt\n<<<<<<< SEARCH\ntwo\n  =======\n2\n>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("indented",),
    ),
    Case(
        "no divider at all",
        "a.txt\n<<<<<<< SEARCH\ntwo\n>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("no divider", "seven"),
    ),
    Case(
        "a divider written twice",
        "a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n=======\n>>>>>>> REPLACE\n",
        {"a.py": "x = 1\n"},
        codes=("MARKER",),
        says=("left in the new text",),
    ),
    Case(
        "a doubled divider",
        "a.md\n<<<<<<< SEARCH\nx = 1\n=======\n=======\nx = 2\n>>>>>>> REPLACE\n",
        {"a.md": "x = 1\n"},
        codes=("MARKER",),
    ),
    Case(
        "underlining a heading",
        edit("a.rst", "Heading", "Heading\n======="),
        {"a.rst": "Heading\n\ntext\n"},
        {"a.rst": "Heading\n=======\n\ntext\n"},
        ("exact",),
    ),
    Case(
        "more dividers than any file has",
        edit("a.md", "x", "\n".join(["Heading", "======="] * 60)),
        {"a.md": "x\n"},
        codes=("MARKER",),
        says=("61 divider lines",),
    ),
]

NINE = [
    Case(
        "nine characters when told",
        edit("a.txt", "two", "2", length=9),
        {"a.txt": A},
        DONE,
        ("exact",),
        marker=9,
    ),
    Case(
        "nine characters when not told",
        edit("a.txt", "two", "2", length=9),
        {"a.txt": A},
        DONE,
        ("exact",),
    ),
    Case(
        "seven characters where nine were asked for",
        edit("a.txt", "two", "2"),
        {"a.txt": A},
        codes=("MARKER",),
        says=("nine characters",),
        marker=9,
    ),
    Case(
        "a block inside a nine-character block is content",
        edit("guide.md", "example", "x.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE", length=9),
        {"guide.md": "# Guide\nexample\n"},
        {"guide.md": "# Guide\nx.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"},
        ("exact",),
        marker=9,
    ),
    Case(
        "SEARCH with seven-character markers in a nine-character block",
        edit("guide.md", "<<<<<<< SEARCH\na\n=======\nb", "<<<<<<< SEARCH\na\n=======\nc", length=9),
        {"guide.md": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"},
        {"guide.md": "<<<<<<< SEARCH\na\n=======\nc\n>>>>>>> REPLACE\n"},
        ("exact",),
        marker=9,
    ),
    Case(
        "a seven-character closer does not close a nine-character block",
        "a.txt\n<<<<<<<<< SEARCH\ntwo\n=========\n2\n>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=(">>>>>>>>> REPLACE", "Line 6"),
    ),
    Case(
        "a nine-character WHOLE",
        whole("guide.md", "<<<<<<< WHOLE\n>>>>>>> WHOLE", length=9),
        {},
        {"guide.md": "<<<<<<< WHOLE\n>>>>>>> WHOLE\n"},
        ("whole_file",),
    ),
    Case(
        "a seven-character divider in a nine-character block",
        "a.txt\n<<<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("nine characters", '"======="'),
    ),
]

BROKEN = [
    Case(
        "cut off in REPLACE",
        "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2",
        {"a.txt": A},
        codes=("MARKER",),
        says=("ends",),
    ),
    Case("cut off in SEARCH", "a.txt\n<<<<<<< SEARCH\ntwo", {"a.txt": A}, codes=("MARKER",)),
    Case("cut off after the opener", "a.txt\n<<<<<<< SEARCH", {"a.txt": A}, codes=("MARKER",)),
    Case(
        "cut off in WHOLE",
        "a.txt\n<<<<<<< WHOLE\nx\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=(">>>>>>> WHOLE",),
    ),
    Case(
        "one good block, one cut off",
        edit("a.txt", "two", "2") + "b.txt\n<<<<<<< SEARCH\nx\n=======\n",
        {"a.txt": A, "b.txt": "x\n"},
        codes=("MARKER",),
        says=("MARKER b.txt (block 2 of 2)",),
    ),
    Case(
        "no closer before the next block",
        "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n\nb.txt\n" + BODY,
        {"a.txt": A, "b.txt": A},
        codes=("MARKER",),
        says=("MARKER a.txt (block 1 of 2)", "The next block begins"),
    ),
    Case(
        "a closer with eight characters",
        "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("is no closer",),
    ),
    Case(
        "an indented closer",
        "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n  >>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("first column",),
    ),
    Case(
        "the wrong word closes",
        "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> SEARCH\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=(">>>>>>> REPLACE",),
    ),
    Case(
        "WHOLE closed by REPLACE",
        "a.txt\n<<<<<<< WHOLE\nx\n>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=(">>>>>>> WHOLE",),
    ),
    Case(
        "a closer that no opener began",
        edit("a.txt", "two", "2") + "three\n>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("no opener",),
    ),
    Case(
        "an indented block",
        "- a.txt\n\n  <<<<<<< SEARCH\n  two\n  =======\n  2\n  >>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("from the first column",),
    ),
    Case(
        "an opener with six characters",
        "a.txt\n<<<<<< SEARCH\ntwo\n======\n2\n>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("exactly seven",),
    ),
    Case(
        "an opener in small letters",
        "a.txt\n<<<<<<< search\ntwo\n=======\n2\n>>>>>>> replace\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("capitals",),
    ),
    Case(
        "the path on the opener's line",
        "<<<<<<< SEARCH a.txt\ntwo\n=======\n2\n>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("MARKER",),
        says=("alone on its line",),
    ),
    Case("no path at all", BODY, {"a.txt": A}, codes=("UNKNOWN_PATH",), says=("no path line",)),
    Case(
        "only a fence above",
        f"```\n{BODY}```\n",
        {"a.txt": A},
        codes=("UNKNOWN_PATH",),
        says=("no path line",),
    ),
    Case(
        "the second block has no path",
        edit("a.txt", "two", "2") + "\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("UNKNOWN_PATH",),
        says=("(block 2 of 2)", "closes block 1", "several blocks are for the same file"),
    ),
    Case(
        "prose instead of a path",
        edit("a.txt", "two", "2")
        + "And the first line of a.txt:\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n",
        {"a.txt": A},
        codes=("UNKNOWN_PATH",),
        says=('Did you mean "a.txt"?',),
    ),
    Case(
        "DELETE with lines", "a.txt\n<<<<<<< DELETE\none\n>>>>>>> DELETE\n", {"a.txt": A}, codes=("MARKER",)
    ),
    Case(
        "RENAME without a path", "a.txt\n<<<<<<< RENAME\n\n>>>>>>> RENAME\n", {"a.txt": A}, codes=("MARKER",)
    ),
    Case(
        "RENAME with two",
        "a.txt\n<<<<<<< RENAME\nb.txt\nc.txt\n>>>>>>> RENAME\n",
        {"a.txt": A},
        codes=("MARKER",),
    ),
    Case(
        "no block and no word",
        "I would rather not.",
        {"a.txt": A},
        codes=("MARKER",),
        says=("no edit block",),
    ),
    Case("an empty answer", "", {"a.txt": A}, codes=("MARKER",)),
    Case("NO_CHANGE without a reason", "NO_CHANGE:\n", {"a.txt": A}, codes=("MARKER",), says=("reason",)),
]


@pytest.mark.parametrize("case", PATH_LINES + FENCES + DIVIDERS + NINE + BROKEN, ids=str)
def test_grammar(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NO_CHANGE: it is right as it is", "it is right as it is"),
        ("I looked.\n\nNO_CHANGE: the bug is elsewhere\n", "the bug is elsewhere"),
        ("**NO_CHANGE:** nothing to do", "nothing to do"),
        ("`NO_CHANGE: nothing to do`", "nothing to do"),
        ("```\nNO_CHANGE: nothing to do\n```", "nothing to do"),
        ("NO_CHANGE:\nThe file has it already.", "The file has it already."),
        ("NO_CHANGE: one\r\nmore", "one"),
    ],
)
def test_no_change_with_a_reason_is_an_answer(text: str, reason: str) -> None:
    answer = parse_answer(text)
    assert answer.no_change == reason
    assert answer.problems == ()
    applied = check(Case("", text, {"a.txt": A}))
    assert applied.problems == ()


def test_no_change_beside_blocks_is_prose() -> None:
    answer = parse_answer("NO_CHANGE: b.txt\n\n" + edit("a.txt", "two", "2"))
    assert answer.no_change is None
    assert len(answer.blocks) == 1


def test_no_change_inside_a_block_is_content() -> None:
    answer = parse_answer(edit("a.txt", "two", "NO_CHANGE: x"))
    assert answer.no_change is None


def test_prose_is_what_is_outside_the_blocks() -> None:
    text = "I change it.\n\n```\na.txt\n" + BODY + "```\n\nb.txt\n" + BODY + "\nDone.\n"
    assert parse_answer(text).prose == "I change it.\n\nDone."


def test_blocks_are_numbered_and_know_their_line() -> None:
    answer = parse_answer("Text\n" + edit("a.txt", "x", "y") + delete("b.txt") + rename("c.txt", "`d.txt`"))
    assert [(b.kind, b.path, b.number, b.line, b.target) for b in answer.blocks] == [
        (BlockKind.SEARCH, "a.txt", 1, 3, ""),
        (BlockKind.DELETE, "b.txt", 2, 9, ""),
        (BlockKind.RENAME, "c.txt", 3, 12, "d.txt"),
    ]


def test_problems_count_every_block_begun() -> None:
    answer = parse_answer(edit("a", "x", "y") + BODY + edit("b", "x", "y"))
    assert [(p.block, p.of) for p in answer.problems] == [(2, 3)]
    assert [b.number for b in answer.blocks] == [1, 3]


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 7),
        ("x = 1\n", 7),
        ("======\n", 7),
        ("========\n", 7),
        (" =======\n", 7),
        ("x =======\n", 7),
        ("<<<<<<<<< SEARCH\n", 7),
        ("a\n=======\nb", 9),
        ("a\r\n=======\r\nb", 9),
        ("<<<<<<< HEAD\n", 9),
        ("x\n>>>>>>> REPLACE", 9),
        ("||||||| base\n", 9),
        ("<<<<<<<", 9),
    ],
)
def test_markers_are_longer_where_a_text_holds_them(text: str, length: int) -> None:
    assert marker_length(["plain\n", text]) == length
