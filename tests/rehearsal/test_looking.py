"""The rehearsal's generator looks at what it is to change and cannot see, and at nothing else."""

from __future__ import annotations

from tests.rehearsal.conversation import KEY, Message, writing
from tests.scripted.reading import read_writing
from tests.scripted.writer.generator import Generator

FILES = {
    "app/one.py": b"def add(x, to=[]):\n    to.append(x)\n    return to\n",
    "app/two.py": b"def name():\n    return 1\n",
}
TASK = "Replace mutable default arguments"


def offered(messages: list[Message]) -> list[Message]:
    system = messages[0]["content"] + "\n<<<<<<< LOOK\nread path\n>>>>>>> LOOK\n"
    return [{"role": "system", "content": system}, *messages[1:]]


def told(messages: list[Message], answer: str, text: str) -> list[Message]:
    return [*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": text}]


def answer(messages: list[Message]) -> str:
    return Generator(fault_rate=0).answer(messages).text


def test_it_searches_for_its_rule_reads_what_it_finds_and_writes() -> None:
    opening = offered(writing(FILES, TASK, shown=["app/two.py"]))
    first = answer(opening)
    assert "<<<<<<< LOOK\nsearch " in first
    searched = told(
        opening,
        first,
        "search x *.py: 1 line in 1 file\napp/one.py\n     1| def add(x, to=[]):\n\nYou may look 5 more times.",
    )
    second = answer(searched)
    assert "read app/one.py" in second
    block = f'[[begin file {KEY} {{"path": "app/one.py"}}]]\n{FILES["app/one.py"].decode()}[[end file {KEY}]]'
    assert "app/one.py\n<<<<<<< SEARCH" in answer(
        told(searched, second, f"read app/one.py:\n{block}\n\nYou may look 4 more times.")
    )


def test_it_does_not_look_where_it_sees_all_or_is_offered_nothing() -> None:
    assert "SEARCH" in answer(writing(FILES, TASK, shown=["app/one.py"]))
    assert "LOOK" not in answer(offered(writing(FILES, TASK, named=["app/one.py"])))


def test_many_places_are_too_large_for_one_change() -> None:
    opening = offered(writing(FILES, TASK, shown=["app/two.py"]))
    first = answer(opening)
    after = told(
        opening,
        first,
        "search x *.py: 90 lines in 61 files\n\nYou cannot look again. Answer now with what you have seen.",
    )
    assert answer(after).startswith("TOO_LARGE: 61 files")


def test_looks_are_no_turns_of_the_conversation() -> None:
    opening = offered(writing(FILES, TASK, shown=["app/two.py"]))
    looked = told(opening, answer(opening), "search x: no line has it.\n\nYou cannot look again.")
    prompt = read_writing(looked)
    assert (prompt.turn, prompt.turns, prompt.may_look) == ("first", 1, False)
    assert len(prompt.looks) == 1
