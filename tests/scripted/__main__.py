"""`python -m tests.scripted`: the rehearsal's server, with a writer and a reviewer for any code, for tests and benchmarks.

Everything but the answers is `navigator.rehearsal`'s. The tests' environment names this module in NAVIGATOR_REHEARSAL.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from navigator.model.states import Role
from navigator.rehearsal import __main__ as rehearsal
from navigator.rehearsal import player
from navigator.rehearsal.api import Api, Player
from navigator.rehearsal.engine import Completion, pace_of
from navigator.rehearsal.samples import sample_projects
from navigator.rehearsal.tool_calls import tools_in
from tests.scripted.reading import Messages, read_review
from tests.scripted.reviewer import Reviewer
from tests.scripted.writer import Writer

FAULT_RATE = 0.35
"""Share of the generator's first answers that are spoilt."""

STRONG_FAULTS = 0.5
"""Share of the generator's fault rate that the reviewer's model has when it writes. Assumed."""

OWN_EYES = 0.2
"""Added to the generator's chance of overlooking a mistake when it reviews its own change. Assumed."""


def make_brain(role: Role, *, telling: bool = False) -> Player:
    """What answers for a role: either may be asked to write a change, and to review one; sample tasks are played.

    Args:
        role: the reviewer writes with fewer faults, the generator overlooks more when it reviews.
        telling: simulated probabilities are lower where an answer was spoilt.
    """
    strong = role is Role.REVIEWER
    rate = FAULT_RATE * (STRONG_FAULTS if strong else 1.0)
    writer = Writer(fault_rate=rate, telling=telling)
    reader = Reviewer(blind=0.0 if strong else OWN_EYES)
    samples = {task.text for project in sample_projects() for task in project.tasks}

    def answer(
        messages: Messages, schema: dict[str, Any] | None = None, repeat: int = 0, temperature: float = 0.0
    ) -> Completion:
        prompt = read_review(messages)
        if prompt.task in samples:
            return player.answer(messages, schema, repeat, temperature)
        if tools_in("\n".join(one["content"] for one in messages if one["role"] == "system")):
            return writer.by_agent(messages)
        asked_to_write = any("[[begin " in message["content"] for message in messages)
        if prompt.diff or (strong and not asked_to_write):
            return reader.answer(messages, schema, repeat)
        return writer.answer(messages, schema, temperature)

    return answer


def parse_options(arguments: Sequence[str] | None = None) -> Any:
    """The command line; wrong use exits 2."""
    parser = rehearsal.parser_of("python -m tests.scripted")
    parser.add_argument(
        "--telling", action="store_true", help="probabilities are lower where an answer was spoilt"
    )
    parser.add_argument("--context-tokens", type=int, default=131_072)
    return rehearsal.parse_options(arguments, parser)


def main() -> None:
    """Entry point."""
    options = parse_options()
    role = Role(options.role)
    api = Api(
        role,
        pace_of(role, options.time_scale),
        make_brain(role, telling=options.telling),
        context_tokens=options.context_tokens,
    )
    asyncio.run(rehearsal.serve(api, options.port))


if __name__ == "__main__":
    main()
