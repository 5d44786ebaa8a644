"""Models of known quality for Compare: they know each task's right change, and get it right as often as a test says."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.journey.scripted_models import Messages, Models, approval, objection

Change = Mapping[str, tuple[str | None, str | None]]
"""Old and new text of each file that the right change touches."""

MARK = "# not the right change"


@dataclass(frozen=True)
class Quality:
    """How often each is right: drafts of both models, a revision, and a reader of wrong changes."""

    generator: float = 0.5
    reviewer: float = 0.75
    revision: float = 0.9
    catches: Mapping[str, float] = ()  # type: ignore[assignment]
    seed: str = ""

    def draw(self, *words: str) -> float:
        """The dice of one task: a number from 0 to 1 that the words decide."""
        return draw(*words, self.seed) if self.seed else draw(*words)

    def expected(self, arm: str, text: str) -> bool:
        """Whether an arm solves a task, by the task's dice."""
        writer = "reviewer" if arm == "reviewer" else "generator"
        if self.draw(writer, text) < getattr(self, writer):
            return True
        reader = READERS.get(arm)
        return (
            reader is not None
            and self.draw("reads", reader, text) < self.catches[reader]
            and self.draw("revision", text) < self.revision
        )

    def rate(self, arm: str) -> float:
        """The share of tasks that an arm solves in the long run."""
        first = self.reviewer if arm == "reviewer" else self.generator
        reader = READERS.get(arm)
        return first + ((1 - first) * self.catches[reader] * self.revision if reader else 0)


READERS = {"self-review": "generator", "cascade": "reviewer"}
_TASK = re.compile(r"^\[\[begin task (\w+) .*\]\]\n(.*?)\n\[\[end task \1\]\]$", re.MULTILINE | re.DOTALL)


def draw(*words: str) -> float:
    """A number from 0 to 1 that the words decide."""
    return int(hashlib.sha256("\0".join(words).encode()).hexdigest()[:12], 16) / 16**12


def ended(text: str | None) -> str:
    """With a newline at its end: a marker begins a line."""
    return f"{text}\n" if text and not text.endswith("\n") else text or ""


def known(changes: Mapping[str, Change], quality: Quality) -> Models:
    """Both models, by the texts of the tasks."""
    texts = {text.strip(): text for text in changes}

    def task_of(messages: Messages) -> str:
        found = _TASK.search(messages[1]["content"])
        assert found is not None, "the prompt has no task"
        return texts[found[2].strip()]

    def blocks(messages: Messages, text: str, *, right: bool) -> str:
        found = re.search(r"^(<{7,9}) SEARCH", messages[0]["content"] + "\n" + messages[1]["content"], re.M)
        wide = len(found[1]) if found else 7
        files = []
        for number, (path, (old, new)) in enumerate(changes[text].items()):
            wrong = (old + f"\n{MARK}\n") if old is not None else f"{MARK}\n"
            after = new if right else (wrong if number == 0 else old)
            if after == old or after is None:
                continue
            files.append(
                f"{path}\n{'<' * wide} SEARCH\n{ended(old)}{'=' * wide}\n{ended(after)}{'>' * wide} REPLACE\n"
            )
        return "\n".join(files)

    def writes(messages: Messages, who: str, rate: float) -> str:
        text = task_of(messages)
        right = quality.draw(who, text) < rate
        for said in messages[2:]:
            if said["role"] == "user":
                right = quality.draw("revision", text) < quality.revision
        return blocks(messages, text, right=right)

    def reads(messages: Messages, who: str) -> str:
        text, shown = task_of(messages), messages[1]["content"]
        wrong = MARK in shown
        if wrong and quality.draw("reads", who, text) < quality.catches[who]:
            return json.dumps(
                json.loads(approval()) | {"findings": [objection(f"+{MARK}")], "verdict": "REVISE"}
            )
        return approval()

    def judges(messages: Messages) -> str:
        first, _, second = messages[1]["content"].partition("===== Answer B =====")
        return json.dumps({"better": {(0, 1): "A", (1, 0): "B"}.get((MARK in first, MARK in second), "tie")})

    def is_review(messages: Messages) -> bool:
        return "verdict" in messages[0]["content"].lower()

    def one(who: str, rate: float):  # type: ignore[no-untyped-def]
        def answer(messages: Messages) -> str:
            if messages[0]["content"].startswith("You compare two answers"):
                return judges(messages)
            return reads(messages, who) if is_review(messages) else writes(messages, who, rate)

        return answer

    return Models(write=one("generator", quality.generator), read=one("reviewer", quality.reviewer))
