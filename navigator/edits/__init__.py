"""Edit blocks: read from an answer, matched against a pinned tree, applied in memory, all or nothing."""

from __future__ import annotations

from navigator.edits.apply import Applied, apply_answer
from navigator.edits.ladder import SearchMatch, locate
from navigator.edits.parser import Block, BlockKind, MarkerLength, ParsedAnswer, marker_length, parse_answer
from navigator.edits.paths import EditProblem, unsafe_path
from navigator.edits.textfile import BinaryContent, TextFile
from navigator.git.private import FileChange

__all__ = [
    "Applied",
    "BinaryContent",
    "Block",
    "BlockKind",
    "EditProblem",
    "FileChange",
    "MarkerLength",
    "ParsedAnswer",
    "SearchMatch",
    "TextFile",
    "apply_answer",
    "locate",
    "marker_length",
    "parse_answer",
    "unsafe_path",
]
