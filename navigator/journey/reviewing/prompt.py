"""What a reviewer is shown of one proposal: in one prompt where it fits, else in several, each checked before it is sent.

The surroundings shrink first: whole files, then forty lines about each hunk, then ten, then none. What still does not fit
is split by file, and a file that alone is too large by groups of its hunks; each part lists what else the change touches. A
single hunk that does not fit is not cut: it is named, and the whole counts as unreviewed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from navigator.journey.calls import Message
from navigator.journey.prompts.assemble import task_block
from navigator.journey.prompts.blocks import KeyRing, data_block, diff_text, file_title, finding_row
from navigator.journey.prompts.library import PromptLibrary
from navigator.journey.reviewing.answer import MAX_FINDINGS
from navigator.journey.reviewing.grounding import Shown
from navigator.journey.reviewing.precedents import SHARE, TOKENS, ChangeWords, fitting, near, precedents_block
from navigator.model.diff import FileDiff, Hunk
from navigator.model.models import CheckResult, Finding, Task
from navigator.sandbox.suite import excerpt
from navigator.store.reads.exam import Precedent

WHOLE_FILE_LINES = 400
"""Files up to this length are shown whole where there is room."""

LEVELS = (WHOLE_FILE_LINES, 40, 10, None)
"""How much is shown around a hunk: the whole of a file up to so many lines (and forty lines about it in a longer one), so
many lines on each side, or nothing."""

_WITH_CALLERS = frozenset(LEVELS[:2])
"""The levels at which code in other files that uses what is redefined is shown, too."""

_TIGHT = 2
"""The level at which parts are packed; each is then shown as much as still fits."""

OVERHEAD = 400
"""Tokens kept free for the chat template and what it puts between messages."""

_ESTIMATE = 0.9
"""Share of the room that is used where tokens are only estimated."""

_CHECK_CHARACTERS = 3_000

Place = Sequence[tuple[int, str]]
Around = Mapping[str, Sequence[str]]
"""The new text of changed files, line by line, by path."""


@dataclass(frozen=True)
class Reading:
    """One prompt. `asked` are the numbers of the earlier findings that it asks about; `tokens` is its length."""

    messages: tuple[Message, ...]
    version: str
    shown: Shown
    labels: tuple[str, ...]
    asked: tuple[int, ...]
    tokens: int
    precedents: tuple[Precedent, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of the precedents that are shown."""
        return tuple(one.id for one in self.precedents)


@dataclass(frozen=True)
class Parts:
    """All prompts of one review, and in words what fits into none."""

    readings: tuple[Reading, ...]
    too_large: tuple[str, ...]
    version: str

    @property
    def precedents(self) -> tuple[int, ...]:
        """The numbers of those that are shown: the same in every prompt."""
        return tuple(sorted({number for reading in self.readings for number in reading.numbers}))


@dataclass(frozen=True)
class ReviewPromptDependencies:
    """What a review is made of besides the change.

    Attributes:
        prompts: the templates.
        keys: of this residency.
        count: tokens of a text.
        exact: whether that is the model's own count.
        room: tokens that a prompt may have: the server's context less the answer.
    """

    prompts: PromptLibrary
    keys: KeyRing
    count: Callable[[str], int]
    exact: bool
    room: int

    @property
    def budget(self) -> int:
        """Tokens that a prompt is planned for."""
        return int((self.room - OVERHEAD) * (1.0 if self.exact else _ESTIMATE))


@dataclass(frozen=True)
class _Unit:
    """Something that is never divided further: a file, or a group of a large file's hunks."""

    file: FileDiff
    cost: int


def shown_precedents(
    deps: ReviewPromptDependencies, held: Sequence[Precedent], change: ChangeWords
) -> tuple[Precedent, ...]:
    """Those of a project's precedents that the review of a change shows."""
    return fitting(near(held, change), min(TOKENS, deps.budget // SHARE), deps.count)


class Planner:
    """Makes the prompts of one review.

    Args:
        deps: see there.
        task: its text and the developer's note are shown.
        files: the diff, every file with at least one labelled hunk (`blocks.with_labels`).
        around: the new text of changed files.
        checks: their results.
        earlier: the findings that a revision had to answer; empty for a first reading.
        callers: code in other files that is shown while there is room for more than the lines about each hunk.
        precedents: of the project; those that are near are shown.
    """

    def __init__(
        self,
        deps: ReviewPromptDependencies,
        task: Task,
        files: Sequence[FileDiff],
        around: Around,
        checks: Sequence[CheckResult],
        earlier: Sequence[Finding] = (),
        *,
        callers: Mapping[str, Place] | None = None,
        precedents: Sequence[Precedent] = (),
    ) -> None:
        self._deps, self._task, self._files, self._around = deps, task, files, around
        self._earlier = earlier
        self._callers = callers or {}
        self._name = "review-again" if earlier else "review"
        checked = checks_text(checks)
        texts = [
            diff_text(files),
            task.text,
            task.note,
            checked,
            *("\n".join(lines) for lines in around.values()),
        ]
        texts += [text for pieces in self._callers.values() for _, text in pieces]
        texts += [text for finding in earlier for text in (finding.quote, finding.trigger, finding.message)]
        self._shown = shown_precedents(deps, precedents, ChangeWords.of(files))
        texts += [text for one in self._shown for text in (one.path, one.quote, one.message, one.note)]
        self._key = deps.keys.key_for(texts)
        self._checks = data_block("checks", self._key, checked)
        self._counted: dict[str, int] = {}

    def plan(self) -> Parts:
        """The prompts, in the order of the diff."""
        files = list(self._files)
        version = self._deps.prompts.get(self._name).version
        alone = self._fixed([])
        for level in LEVELS:
            if alone + self._cost(files, level) <= self._deps.budget:
                reading = self._reading(files, level, self._numbers([files])[0], 1, 1)
                if reading.tokens <= self._deps.room - OVERHEAD:
                    return Parts((reading,), (), version)
        return self._split(version)

    def _split(self, version: str) -> Parts:
        fixed = self._fixed(list(self._files))
        room = self._deps.budget - fixed
        if room <= 0:
            left = self._deps.budget
            words = (
                f"task, checks and list of files alone are about {fixed} tokens; the context leaves {left}"
            )
            return Parts((), (words,), version)
        parts: list[list[FileDiff]] = []
        too_large: list[str] = []
        used = room + 1
        for unit in self._units(room, too_large):
            if used + unit.cost > room:
                parts.append([])
                used = 0
            parts[-1].append(unit.file)
            used += unit.cost
        numbers = self._numbers(parts)
        readings: list[Reading] = []
        for place, (part, asked) in enumerate(zip(parts, numbers, strict=True), 1):
            fitting = (level for level in LEVELS if self._cost(part, level) <= room)
            reading = self._reading(part, next(fitting, None), asked, place, len(parts))
            if reading.tokens > self._deps.room - OVERHEAD:
                reading = self._reading(part, None, asked, place, len(parts))
            if reading.tokens > self._deps.room - OVERHEAD:
                too_large.append(
                    f"part {place} came to {reading.tokens} tokens; the context leaves {self._deps.room}"
                )
                continue
            readings.append(reading)
        return Parts(tuple(readings), tuple(too_large), version)

    def _units(self, room: int, too_large: list[str]) -> Iterator[_Unit]:
        for file in self._files:
            cost = self._cost([file], LEVELS[_TIGHT])
            if cost <= room:
                yield _Unit(file, cost)
                continue
            yield from self._groups(file, room, too_large)

    def _groups(self, file: FileDiff, room: int, too_large: list[str]) -> Iterator[_Unit]:
        """A file's hunks in groups that fit, each with as little around it as is needed."""
        group: list[Hunk] = []
        cost = 0
        for hunk in file.hunks:
            bare = self._cost([replace(file, hunks=(hunk,))], None)
            if bare > room:
                too_large.append(
                    f"hunk {hunk.label} of {file_title(file)} alone is about {bare} tokens; the context leaves {room}"
                )
                continue
            wider = self._cost([replace(file, hunks=(*group, hunk))], None)
            if group and wider > room:
                yield _Unit(replace(file, hunks=tuple(group)), cost)
                group = []
                wider = bare
            group.append(hunk)
            cost = wider
        if group:
            yield _Unit(replace(file, hunks=tuple(group)), cost)

    # What it costs, in tokens. Texts are counted once; a sum of parts is never less than a tenth off the whole.

    def _count(self, text: str) -> int:
        if text not in self._counted:
            self._counted[text] = self._deps.count(text)
        return self._counted[text]

    def _cost(self, files: Sequence[FileDiff], level: int | None) -> int:
        excerpts = self._blocks(files, level)
        return sum(self._count(diff_text([file])) for file in files) + sum(map(self._count, excerpts))

    def _fixed(self, others: Sequence[FileDiff]) -> int:
        """Tokens of everything in a prompt except the change."""
        numbers = tuple(range(1, len(self._earlier) + 1))
        listed = self._listing(others, frozenset()) if others else ""
        system, user, _ = self._render([], "", listed, numbers, 1, 2 if others else 1)
        return self._count(system) + self._count(user)

    # What is shown

    def _blocks(self, files: Sequence[FileDiff], level: int | None) -> list[str]:
        return [
            data_block("excerpt", self._key, text, path=path, first=first)
            for path, pieces in self._context(files, level).items()
            for first, text in pieces
        ]

    def _context(self, files: Sequence[FileDiff], level: int | None) -> dict[str, Place]:
        """The new text around each hunk. A new file is whole in the diff already."""
        shown: dict[str, Place] = dict(self._callers) if level in _WITH_CALLERS else {}
        for file in files:
            lines = self._around.get(file.new_path)
            if level is None or lines is None or file.status == "A" or file.binary:
                continue
            if level == WHOLE_FILE_LINES and len(lines) <= level:
                shown[file.new_path] = [(1, "\n".join(lines))]
                continue
            side = min(level, LEVELS[1] or 0)
            shown[file.new_path] = [
                (first, "\n".join(lines[first - 1 : last]))
                for first, last in _windows(file, len(lines), side)
            ]
        return {path: pieces for path, pieces in shown.items() if pieces}

    def _listing(self, files: Sequence[FileDiff], here: frozenset[str]) -> str:
        """The files that this part does not show, or only in part, with their hunks and counts."""
        rows = [
            f"{file_title(file)}  {file.hunks[0].label}-{file.hunks[-1].label}  +{file.added} -{file.removed}"
            for file in files
            if not {hunk.label for hunk in file.hunks} <= here
        ]
        return data_block("others", self._key, "\n".join(rows))

    def _reading(
        self, files: Sequence[FileDiff], level: int | None, asked: tuple[int, ...], part: int, parts: int
    ) -> Reading:
        here = frozenset(hunk.label for file in files for hunk in file.hunks)
        others = self._listing(self._files, here) if parts > 1 else ""
        system, user, version = self._render(
            self._blocks(files, level), diff_text(files), others, asked, part, parts
        )
        messages: tuple[Message, ...] = (
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        )
        words = self._task.text if not self._task.note else f"{self._task.text}\n{self._task.note}"
        return Reading(
            messages,
            version,
            Shown(files, words, self._context(files, level)),
            tuple(hunk.label for file in files for hunk in file.hunks),
            asked,
            self._deps.count(system) + self._deps.count(user),
            self._shown,
        )

    def _render(
        self, blocks: Sequence[str], diff: str, others: str, asked: tuple[int, ...], part: int, parts: int
    ) -> tuple[str, str, str]:
        key = self._key
        values: dict[str, Any] = {
            "key": key,
            "max_findings": MAX_FINDINGS,
            "blocks": blocks,
            "task": task_block(self._task, key),
            "note": data_block("note", key, self._task.note) if self._task.note else "",
            "checks": self._checks,
            "others": others,
            "part": part,
            "parts": parts,
            "diff": data_block("diff", key, diff),
        }
        if self._earlier:
            values |= {"earlier": earlier_block(self._earlier, asked, key), "asked": asked}
        system, user, version = self._deps.prompts.render(self._name, **values)
        if self._shown:
            held = precedents_block(self._shown, key)
            user = f"{user}\n\n{self._deps.prompts.render('precedents', precedents=held)[1]}"
        return system, user, version

    def _numbers(self, parts: Sequence[Sequence[FileDiff]]) -> list[tuple[int, ...]]:
        """For each part, the earlier findings that it can answer: each goes to the first part that holds the most of its file."""
        given: list[list[int]] = [[] for _ in parts]
        for number, finding in enumerate(self._earlier, 1):
            hunks = [
                sum(len(file.hunks) for file in part if finding.path in (file.new_path, file.old_path))
                for part in parts
            ]
            if hunks:
                given[hunks.index(max(hunks))].append(number)
        return [tuple(numbers) for numbers in given]


def _windows(file: FileDiff, length: int, side: int) -> list[tuple[int, int]]:
    """Line ranges about the hunks, 1-based and inclusive, joined where they touch."""
    windows: list[tuple[int, int]] = []
    for hunk in file.hunks:
        if not hunk.lines:
            continue
        first = max(1, hunk.new_start - side)
        last = min(length, hunk.new_start + max(hunk.new_count, 1) + side)
        if last < first:
            continue
        if windows and first <= windows[-1][1] + 1:
            windows[-1] = (windows[-1][0], max(last, windows[-1][1]))
        else:
            windows.append((first, last))
    return windows


def earlier_block(findings: Sequence[Finding], asked: Sequence[int], key: str) -> str:
    """The earlier findings that are asked about, as JSON, under the numbers that they have among all of them."""
    rows = [{"number": number, **finding_row(findings[number - 1])} for number in asked]
    return data_block("earlier", key, json.dumps(rows, ensure_ascii=False, indent=1))


def checks_text(checks: Sequence[CheckResult]) -> str:
    """The checks' results, one a line, as people and models read them; a long output is cut in the middle."""
    return "\n".join(
        f"{check.name}: {check.outcome.value}  {excerpt(check.detail, limit=_CHECK_CHARACTERS)}".rstrip()
        for check in checks
    )
