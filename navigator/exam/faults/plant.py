"""Plants one known fault into a file and says what it is and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from navigator.exam.faults.braces import BRACES
from navigator.exam.faults.chance import pick, shuffled
from navigator.exam.faults.lines import MARKDOWN, Operator, lines_of, with_line
from navigator.exam.faults.python import PYTHON, names_on, parses

PYTHON_SUFFIXES = (".py", ".pyi")

OPERATORS: dict[tuple[str, ...], tuple[tuple[str, Operator], ...]] = {
    PYTHON_SUFFIXES: PYTHON,
    (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".go"): BRACES,
    (".md", ".markdown"): MARKDOWN,
}
"""The operators by name, per file name suffix."""

SHORTEST_NAME = 5
"""Letters of a name that can be misspelt and still be recognised."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A file with one fault.

    Attributes:
        kind: the operator's name, or "wrong-name".
        path: the file.
        line: 1-based. All lines before it are as they were; from it on, the faulty text differs from the sound one.
        text: the whole faulty text, with LF.
    """

    kind: str
    path: str
    line: int
    text: str


def mutants(path: str, text: str, where: Sequence[int], *seed: object) -> Iterator[Fault]:
    """Every fault that the language's operators can plant at the line indices `where`, in the seed's order.

    Args:
        path: says which language it is. A language without operators yields nothing.
        text: the sound text, with LF.
        where: 0-based indices of lines, those of a change for example.
        seed: another seed gives another order.
    """
    operators = next((found for suffixes, found in OPERATORS.items() if path.endswith(suffixes)), ())
    lines = lines_of(text)
    for name, operator in shuffled(operators, "slip", *seed):
        for at in shuffled(where, name, *seed):
            faulty = operator(lines, at)
            if faulty is not None and (fault := _fault(name, path, at, text, faulty)) is not None:
                yield fault


def misspellings(path: str, text: str, where: Sequence[int], *seed: object) -> Iterator[Fault]:
    """Faults that misspell one name on one of the lines `where` of a Python file, one per line, in the seed's order."""
    if not path.endswith(PYTHON_SUFFIXES):
        return
    lines = lines_of(text)
    for at in shuffled(where, "line", *seed):
        options = [token for token in names_on(text, at + 1) if len(token.string) >= SHORTEST_NAME]
        if not options:
            continue
        token = pick(options, "name", *seed)
        start, end = token.start[1], token.end[1]
        faulty = with_line(lines, at, lines[at][:start] + misspelt(token.string) + lines[at][end:])
        if (fault := _fault("wrong-name", path, at, text, faulty)) is not None:
            yield fault


def misspelt(word: str) -> str:
    """`word` with two neighbouring letters inside it exchanged, or one doubled where all are alike."""
    for at in range(len(word) // 2, len(word) - 1):
        if word[at] != word[at + 1] and "_" not in word[at : at + 2]:
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word + word[-1]


def _fault(kind: str, path: str, at: int, sound: str, faulty: list[str]) -> Fault | None:
    """The fault, or None where the text is the same or is Python that no longer parses."""
    text = "\n".join(faulty) + ("\n" if faulty and sound.endswith("\n") else "")
    if text == sound or (path.endswith(PYTHON_SUFFIXES) and not parses(text)):
        return None
    return Fault(kind, path, at + 1, text)
