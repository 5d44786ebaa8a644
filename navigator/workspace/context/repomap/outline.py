"""Draws files as a model reads a map: the path, then the lines that its definitions begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from navigator.workspace.context.repomap.files import MapFile

Count = Callable[[str], int]

_MOST_LINES = 12
_FEWEST_LINES = 2


def outline(files: Sequence[MapFile], budget: int, count: Count) -> tuple[str, int]:
    """As many of the files, the first ones first, as fit into `budget` tokens, with as many lines each as all of them may have.

    Returns:
        The text and its tokens; ("", 0) where not one file fits.
    """
    drawable = [file for file in files if file.definitions and not file.out]
    if not drawable or budget <= 0:
        return "", 0
    blocks = [_block(file, _MOST_LINES) for file in drawable]
    # The longest beginning that fits, by halving; then with fewer lines a file, if that shows more than half as many again.
    best, tokens = _fitted(blocks, budget, count)
    short, short_tokens = _fitted([_block(file, _FEWEST_LINES) for file in drawable], budget, count)
    if short > 1.5 * best:
        blocks, best, tokens = [_block(file, _FEWEST_LINES) for file in drawable], short, short_tokens
    return "".join(blocks[:best]), tokens


def _fitted(blocks: Sequence[str], budget: int, count: Count) -> tuple[int, int]:
    low, high, tokens = 0, len(blocks), 0
    while low < high:
        middle = (low + high + 1) // 2
        size = count("".join(blocks[:middle]))
        if size <= budget:
            low, tokens = middle, size
        else:
            high = middle - 1
    return low, tokens


def _block(file: MapFile, most: int) -> str:
    """One file: outer definitions before inner ones where not all fit; in the order of the file."""
    if len(file.definitions) > most:
        depths = _depths(file)
        chosen = sorted(sorted(range(len(depths)), key=lambda n: (depths[n], n))[:most])
    else:
        chosen = list(range(len(file.definitions)))
    lines = [f"{file.definitions[n].first:>5} {file.definitions[n].signature}" for n in chosen]
    if len(chosen) < len(file.definitions):
        lines.append(f"      … {len(file.definitions) - len(chosen)} more")
    return "\n".join([f"{file.path}:", *lines, ""])


def _depths(file: MapFile) -> list[int]:
    """How many other definitions each one stands in. They come by first line, outer before inner."""
    depths: list[int] = []
    ends: list[int] = []
    for definition in file.definitions:
        ends = [end for end in ends if end >= definition.last and end >= definition.first]
        depths.append(len(ends))
        ends.append(definition.last)
    return depths
