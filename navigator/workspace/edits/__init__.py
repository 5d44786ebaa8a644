"""Edit blocks: read from an answer, matched against a pinned tree, applied in memory, all or nothing."""

from __future__ import annotations

from navigator.workspace.edits.apply import Applied, apply_answer
from navigator.workspace.edits.ladder import Match, locate
from navigator.workspace.edits.markers import BlockKind, MarkerLength, marker_length
from navigator.workspace.edits.parser import Block, ParsedAnswer, parse_answer
from navigator.workspace.edits.paths import unsafe_path
from navigator.workspace.edits.problems import EditProblem
from navigator.workspace.edits.source_protocol import FileChange, FileSource
from navigator.workspace.edits.textfile import BinaryContent, TextFile

__all__ = [
    "Applied",
    "BinaryContent",
    "Block",
    "BlockKind",
    "EditProblem",
    "FileChange",
    "FileSource",
    "MarkerLength",
    "Match",
    "ParsedAnswer",
    "TextFile",
    "apply_answer",
    "locate",
    "marker_length",
    "parse_answer",
    "unsafe_path",
]
