"""A scan's answer, read and held against the project."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.journey.scan import (
    MOST,
    Known,
    RawSuggestion,
    UnreadableScan,
    read_scan,
    report_text,
    scan_schema,
    sift,
)
from navigator.model.states import Complexity, TaskKind
from tests.journey.answers import JSON_VALUES
from tests.scripted.instances import allowed, instance_of

SHOWN = {"a.py": "import os\n\n\ndef load(path):\n    return open(path).read()\n", "b.py": "x = 1\n"}


def known(*titles: tuple[str, frozenset[str]]) -> Known:
    return Known(SHOWN, {"a.py", "b.py", "c.py"}, lambda path: path == "new.py", titles)


def raw(title: str = "Close the file in load", **fields: Any) -> RawSuggestion:
    given_: dict[str, Any] = {
        "title": title,
        "text": "It is left open.",
        "kind": "fix",
        "complexity": "simple",
        "files": ["a.py"],
        "why": "Handles run out.",
        "evidence": {"path": "a.py", "line": 5, "quote": "return open(path).read()"},
    }
    return RawSuggestion.model_validate(given_ | fields)


def test_a_suggestion_is_placed_at_the_line_it_quotes() -> None:
    (one,) = sift([raw()], known())
    assert (one.quote_path, one.quote_line, one.grounded) == ("a.py", 5, True)
    assert one.text == "Close the file in load\n\nIt is left open."
    assert one.files == ("a.py",)


@pytest.mark.parametrize("quote", ["", "   ", "return open(path).close()", "def"])
def test_what_is_not_there_is_kept_ungrounded_and_last(quote: str) -> None:
    loose = raw("Weigh the anchor", kind="security", evidence={"path": "a.py", "line": 5, "quote": quote})
    found = sift([loose, raw("Write the guide", kind="docs", complexity="complex")], known())
    assert [one.text.partition("\n")[0] for one in found] == ["Write the guide", "Weigh the anchor"]
    assert [(one.rank, one.grounded) for one in found] == [(1, True), (2, False)]
    assert "Of 1 of them the quoted line was not found" in report_text(found)


def test_files_are_there_or_new_or_left_out() -> None:
    entry = raw(files=["a.py", "gone.py", "new.py", "a.py"], new_files=["new.py", "../x", "c.py"])
    (one,) = sift([entry], known())
    assert one.files == ("a.py", "c.py", "new.py")
    assert one.new_files == ("new.py",)


@pytest.mark.parametrize(
    ("title", "files", "twin"),
    [
        ("close the FILE, in `load`!", ["a.py"], True),
        ("Close the file in load", ["b.py"], False),
        ("Close the open file in load", ["b.py"], False),
        ("Read the file in chunks", ["a.py"], False),
    ],
)
def test_the_same_is_said_once(title: str, files: list[str], twin: bool) -> None:
    within = sift([raw(), raw(title, files=files)], known())
    asked = known(("Close the file in load\n\nPlease.", frozenset({"a.py"})))
    before = sift([raw(title, files=files)], asked)
    assert len(within) == (1 if twin else 2)
    assert len(before) == (0 if twin else 1)


def test_one_that_cannot_be_read_does_not_take_the_others_along() -> None:
    answer = {"suggestions": [{"title": "no kind"}, json.loads(raw().model_dump_json()), 7]}
    found = sift(read_scan(f"I looked.\n```json\n{json.dumps(answer)}\n```"), known())
    assert len(found) == 1
    assert report_text(sift(read_scan('{"suggestions": []}'), known())).startswith("# No suggestions")


@pytest.mark.parametrize("text", ["None needed.", '{"suggestions": 3}', "[]", "{" * 5000])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(UnreadableScan):
        read_scan(text)


_PATHS = st.sampled_from(["a.py", "b.py", "gone.py", "new.py"])
_QUOTES = st.sampled_from(["x = 1", "import os", "?"])
_FIELDS = st.fixed_dictionaries(
    {
        "title": st.text(max_size=150),
        "text": st.text(max_size=700),
        "kind": st.sampled_from([kind.value for kind in TaskKind]),
        "complexity": st.sampled_from([word.value for word in Complexity]),
        "files": st.lists(_PATHS | st.text(max_size=9), max_size=5),
        "new_files": st.lists(st.sampled_from(["a.py", "new.py", ".git/x"]), max_size=3),
        "why": st.text(max_size=400),
        "evidence": st.fixed_dictionaries(
            {"path": st.text(max_size=5), "line": st.integers(), "quote": _QUOTES}
        ),
    }
)


@given(st.lists(_FIELDS | JSON_VALUES, max_size=20))
def test_whatever_a_model_lists_can_be_stored_and_shown(entries: list[Any]) -> None:
    found = sift(read_scan(json.dumps({"suggestions": entries})), known())
    assert [one.rank for one in found] == list(range(1, len(found) + 1))
    assert len(found) <= MOST
    for one in found:
        one.model_dump_json()
        assert one.text.strip()
        assert set(one.files) <= {"a.py", "b.py", "c.py", "new.py"}
        assert set(one.new_files) <= {"new.py"}
        assert len(one.text) <= 800
        if one.grounded:
            assert one.quote in SHOWN[one.quote_path].splitlines()[one.quote_line - 1]
    keys = [(one.text.partition("\n")[0].casefold(), one.files) for one in found]
    assert len(keys) == len(set(keys))
    report_text(found)


def test_the_schema_is_bounded_and_holds_what_is_asked_for() -> None:
    schema = scan_schema(["a.py"])
    entry = schema["properties"]["suggestions"]
    assert entry["maxItems"] == MOST
    value = instance_of(entry["items"])
    assert set(value) == set(RawSuggestion.model_fields)
    assert value["evidence"]["path"] == "a.py"
    RawSuggestion.model_validate(value)
    assert not allowed(value | {"kind": "scan"}, entry["items"])

    def unbounded(part: dict[str, Any]) -> list[dict[str, Any]]:
        inner = [*part.get("properties", {}).values(), *([part["items"]] if "items" in part else [])]
        loose = part.get("type") == "string" and not {"enum", "maxLength"} & set(part)
        endless = part.get("type") == "array" and "maxItems" not in part
        return [part] * (loose or endless) + [found for one in inner for found in unbounded(one)]

    assert not unbounded(schema)
    assert not unbounded(scan_schema([]))
