"""One task whose answer is a text: what there is to show of it, read from the store in one go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from navigator.model.models import Suggestion, Task
from navigator.model.states import Role
from navigator.tui.data.deck_snapshot import short_model
from navigator.tui.widgets.cells import Piece, clip, cropped, justified, thousands

if TYPE_CHECKING:
    from navigator.store.reads.loop import RoundCost
    from navigator.store.reads.reader import Reader


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A task, what its answer cost, who wrote it, and what a scan suggests."""

    task: Task
    cost: RoundCost
    role: Role
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def open(self) -> list[Suggestion]:
        """Suggestions that were neither accepted nor dismissed."""
        return [one for one in self.suggestions if one.state == "open"]


def read_answer(reader: Reader, identifier: str) -> AnswerText:
    """From the store; call it in the reading thread."""
    task = reader.task(identifier)
    role = reader.wrote(identifier) or Role.GENERATOR
    cost = reader.round_cost(task.id, task.attempt, task.round, role)
    found = reader.suggestions(task.id, attempt=task.attempt)
    return AnswerText(task, cost, role, tuple(found))


def head_lines(answer: AnswerText, word: str, width: int) -> list[list[Piece]]:
    """Task and title with its state; who wrote it, with what, at what cost."""
    task = answer.task
    title = task.text.strip().partition("\n")[0]
    left: list[Piece] = [
        (task.id, "accent"),
        (f" {clip(task.project, 24)}", "muted"),
        (" · ", "faint"),
        (clip(title, 400), "strong"),
    ]
    return [justified(left, [(word, "accent")], width), cropped(_makers(answer), width)]


def _makers(answer: AnswerText) -> list[Piece]:
    task, cost = answer.task, answer.cost
    pieces: list[Piece] = [(f"{task.kind.value}  ", "muted")]
    if cost.model:
        who = " (the reviewer's model)" if answer.role is Role.REVIEWER else ""
        pieces += [("by ", "muted"), (clip(short_model(cost.model), 24), ""), (who, "warn")]
        pieces.append((f"  {cost.prompt_version}", "muted"))
        usage = cost.usage
        tokens = f"{thousands(usage.prompt_tokens)} → {thousands(usage.completion_tokens)} tokens"
        pieces.append((f"  {tokens} in {usage.seconds:.1f} s", "muted"))
    if task.attempt:
        pieces.append((f"  attempt {task.attempt + 1}", "muted"))
    return pieces
