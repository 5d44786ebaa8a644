"""Either model of the rehearsal may be asked to write and to read."""

from __future__ import annotations

import json

import pytest

from navigator.journey.scan_answer import Known, read_scan, scan_schema, sift
from navigator.model.states import Role
from tests.rehearsal.conversation import reviewing, writing
from tests.scripted.__main__ import make_brain
from tests.scripted.writer.rules import choose_rules

FILES = {
    "a.py": b"import requests\n\n\ndef load(url, seen=[]):\n    if url == None:\n        return seen\n"
    b"    return requests.get(url)\n",
    "README.md": b"#Title\n\nSee https://example.invalid/x \n",
}


@pytest.mark.parametrize("role", [Role.GENERATOR, Role.REVIEWER])
def test_a_scan_is_answered_with_suggestions_that_stand_up(role: Role) -> None:
    system, user = writing(FILES, "What is worth a task?", kind="scan")
    schema = scan_schema(list(FILES))
    answer = make_brain(role, seed=3)([system, user], schema)
    shown = {path: data.decode() for path, data in FILES.items()}
    found = sift(read_scan(answer.text), Known(shown, set(FILES), lambda path: path.startswith("tests/")))
    assert len(found.suggestions) >= 3
    assert not found.notes
    grounded = [one for one in found.suggestions if one.grounded]
    assert len(grounded) >= len(found.suggestions) / 2
    for one in found.suggestions:
        assert choose_rules(one.text, one.kind.value)[1], one.text
    assert answer.text == make_brain(role, seed=3)([system, user], schema).text


def test_some_quotes_are_not_as_they_stand() -> None:
    """As happens with models; what was planted is found out."""
    system, user = writing(FILES, "What is worth a task?", kind="scan")
    shown = {path: data.decode() for path, data in FILES.items()}
    loose = 0
    for seed in range(30):
        answer = make_brain(Role.GENERATOR, seed=seed)([system, user], scan_schema(list(FILES)))
        found = sift(read_scan(answer.text), Known(shown, set(FILES), lambda _: True))
        loose += sum(not one.grounded for one in found.suggestions)
    assert 5 < loose < 60


@pytest.mark.parametrize("role", [Role.GENERATOR, Role.REVIEWER])
def test_either_writes_a_change(role: Role) -> None:
    answer = make_brain(role, seed=3, fault_rate=0.0)(writing(FILES, "Compare with None by identity"))
    assert "<<<<<<< SEARCH" in answer.text
    assert "is None" in answer.text


@pytest.mark.parametrize("role", [Role.GENERATOR, Role.REVIEWER])
def test_either_reads_a_change(role: Role) -> None:
    old = {"a.py": b"def f(x):\n    return x\n"}
    messages, schema, _ = reviewing(
        old, {"a.py": b"def f(x):\n    return undefined_name\n"}, "Return the name"
    )
    value = json.loads(make_brain(role, seed=3)(messages, schema, 1).text)
    assert value["verdict"] in ("APPROVE", "REVISE")


@pytest.mark.parametrize("role", [Role.GENERATOR, Role.REVIEWER])
def test_a_probe_gets_a_short_answer(role: Role) -> None:
    assert make_brain(role)([{"role": "user", "content": "Say OK"}]).text == "OK."
