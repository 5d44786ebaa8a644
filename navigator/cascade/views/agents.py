"""What a coding agent did, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from navigator.model.models import Proposal
from navigator.model.records import AgentTurn

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


def turns_of(reader: Reader, proposal: Proposal) -> list[AgentTurn]:
    """The turns that a proposal came from: those of its round."""
    if not proposal.way.startswith("agent "):
        return []
    return reader.agent_turns(proposal.task_id, proposal.attempt, proposal.round)


def agent_words(turns: Sequence[AgentTurn]) -> str:
    """`Qwen Code 0.24.4: 4 requests in 12 s, read 1 file, sent back 1 time`; "" where no agent wrote."""
    if not turns:
        return ""
    done = [turn for turn in turns if turn.outcome not in ("lost", "started")]
    said = [
        f"{_counted(sum(turn.requests for turn in turns), 'request')} in {sum(turn.seconds for turn in turns):.0f} s"
    ]
    if files := max((turn.files_read for turn in done), default=0):
        said.append(f"read {_counted(files, 'file')}")
    if back := sum(turn.outcome in ("refused", "tests_failed") for turn in done):
        said.append(f"sent back {_counted(back, 'time')}")
    if refused := sum(turn.refused for turn in turns):
        said.append(f"{_counted(refused, 'request')} to anything but the model refused")
    return f"{turns[-1].agent}: {', '.join(said)}"


def agent_lines(turns: Iterable[AgentTurn]) -> list[str]:
    """One line for each turn, with why it was not taken."""
    lines = []
    for turn in turns:
        tools = ", ".join(f"{kind} {count}" for kind, count in sorted(turn.tools.items()))
        kept = f" ({turn.replayed} from the store)" if turn.replayed else ""
        parts = [
            f"attempt {turn.attempt} round {turn.round} {turn.purpose}: {turn.outcome.replace('_', ' ')}",
            f"{_counted(turn.requests, 'request')}{kept}",
            f"{turn.seconds:.1f} s",
            *([f"tools: {tools}"] if tools else []),
        ]
        lines.append(", ".join(parts))
        if turn.reason:
            lines.append(f"  {turn.reason.partition(chr(10))[0]}")
    return lines


def agents_document(turns: Iterable[AgentTurn]) -> list[dict[str, Any]]:
    """Turns as JSON."""
    return [turn.model_dump(mode="json", exclude={"task_id"}) for turn in turns]


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
