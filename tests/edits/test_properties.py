"""What holds for every answer on every tree."""

from __future__ import annotations

import codecs

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from navigator.edits.apply import apply_answer
from navigator.edits.overlay import TextFile
from navigator.edits.parser import parse_answer
from navigator.edits.paths import MAX_MESSAGE, unsafe_path
from navigator.model.states import Rung
from tests.edits.support import apply, tree

# Few short words, so that lines repeat and places are ambiguous; none of three letters, which makes "already there" a
# question of meaning.
WORD = st.sampled_from(
    ["a", "b", "{", "}", "\u00e9x", "\u201cq\u201d", "x = 1", "it's", "w\u2026", "- -", "\t"]
)
LINE = st.builds(
    lambda indent, words, tail: indent + " ".join(words) + tail,
    st.sampled_from(["", "  ", "    ", "\t"]),
    st.lists(WORD, max_size=3),
    st.sampled_from(["", "", "", " ", "\t"]),
)
LINES = st.lists(LINE, min_size=1, max_size=14)
MARKERS = st.sampled_from(
    [
        "<<<<<<< SEARCH",
        "=======",
        ">>>>>>> REPLACE",
        "<<<<<<< WHOLE",
        ">>>>>>> WHOLE",
        "<<<<<<< DELETE",
        ">>>>>>> DELETE",
        "<<<<<<< RENAME",
        ">>>>>>> RENAME",
        "<<<<<<<<< SEARCH",
        "=========",
        ">>>>>>>>> REPLACE",
        "  <<<<<<< SEARCH",
        "<<<<<< SEARCH",
        ">>>>>>>> REPLACE",
        "<<<<<<< HEAD",
        "```",
        "```python",
        "NO_CHANGE: why",
        "NO_CHANGE:",
        "a.py",
        "b.txt",
        "`new.py`",
        "../x",
        ".git/config",
        "one",
        "two",
        "x = 1",
        "",
        "\ud800",
        "# ... rest of code unchanged",
    ]
)
ANSWERS = st.one_of(st.text(), st.lists(st.one_of(MARKERS, LINE), max_size=40).map("\n".join))
FILES = {"a.py": b"one\ntwo\nx = 1\n", "b.txt": b"one\r\ntwo\n\xe9", "empty": b"", "bin": b"\0"}


@given(ANSWERS, st.sampled_from([7, 9]))
@settings(max_examples=40, deadline=None)
def test_any_text_is_read_and_applied_without_an_exception(text: str, marker: int) -> None:
    answer = parse_answer(text, marker=marker)
    assert len(answer.blocks) <= answer.count
    assert all(0 <= problem.block <= problem.of == answer.count for problem in answer.problems)
    source = tree(FILES)
    applied = apply_answer(answer, source)
    assert source.files == FILES
    if applied.problems:
        assert not applied.changes
        assert not applied.edits
    else:
        assert bool(applied.changes) == (answer.no_change is None)
        assert len(applied.edits) >= len(answer.blocks)
    for problem in applied.problems:
        assert 0 < len(problem.message) <= MAX_MESSAGE + 20
    for path, change in applied.changes.items():
        assert unsafe_path(path) is None
        assert change.content != FILES.get(path)


@given(
    st.binary()
    | st.lists(st.sampled_from([b"a", b"\n", b"\r", codecs.BOM_UTF8, b"\xef\xbb", b"\xff", b"\xc2\x85"])).map(
        b"".join
    )
)
def test_text_files_are_written_as_read(data: bytes) -> None:
    assume(b"\0" not in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)))
    read = TextFile.decode(data)
    assert read is not None and read.encode() == data


def occurrences(lines: list[str], part: list[str]) -> int:
    """How often the lines stand there, the slow and plain way."""
    if not part:
        return 0
    return sum(lines[i : i + len(part)] == part for i in range(len(lines) - len(part) + 1))


def block_of(search: list[str], replace: list[str]) -> str:
    return "\n".join(["f.md", "<<<<<<< SEARCH", *search, "=======", *replace, ">>>>>>> REPLACE", ""])


@given(LINES, st.data())
@settings(max_examples=40, deadline=None)
def test_nothing_applies_at_a_wrong_place(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(lines) - 1))
    search = lines[start : data.draw(st.integers(start + 1, len(lines)))]
    change = data.draw(st.sampled_from(["none", "strip", "indent", "dedent", "plain", "line"]))
    if change == "strip":
        search = [line.rstrip() for line in search]
    elif change == "indent":
        search = ["  " + line if line.strip() else line for line in search]
    elif change == "dedent":
        search = [line.removeprefix("  ") for line in search]
    elif change == "plain":
        search = [
            line.replace("\u201c", '"').replace("\u201d", '"').replace("\u2026", "...") for line in search
        ]
    elif change == "line":
        search = [*search[:-1], data.draw(LINE)]
    assume(any(line.strip() for line in search))
    base = "".join(f"{line}\n" for line in lines)
    applied = apply(block_of(search, ["@@new@@"]), {"f.md": base})
    found = occurrences(lines, search)
    codes = [problem.code.value for problem in applied.problems]
    if found > 1:
        assert codes == ["AMBIGUOUS"]
        return
    if codes:
        assert found == 0
        assert codes[0] in {"NO_MATCH", "AMBIGUOUS"}
        event(codes[0])
        return
    rung = applied.edits[0].rung
    event(rung.value)
    assert (rung is Rung.EXACT) == (found == 1)
    content = applied.changes["f.md"].content
    assert content is not None
    after = content.decode().split("\n")[:-1]
    at = next(i for i, line in enumerate(after) if line.endswith("@@new@@"))
    assert after[:at] == lines[:at]
    assert after[at + 1 :] == lines[at + len(search) :]
    # Whatever the rung, the lines that went are SEARCH's but for blanks and typography, and no other place is.
    gone = [loose(line) for line in lines[at : at + len(search)]]
    assert gone == [loose(line) for line in search]
    if rung is Rung.UNICODE:
        assert occurrences([bare(line) for line in lines], [bare(line) for line in search]) == 1


def bare(line: str) -> str:
    """Punctuation made plain, whitespace at the end left out."""
    plain = line.replace("\u201c", '"').replace("\u201d", '"').replace("\u2026", "...")
    return plain.rstrip()


def loose(line: str) -> str:
    return bare(line).strip()
