"""A task that needs more places than a writer can be shown: it is not half done, but divided into tasks to choose from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from navigator.context.build import readable
from navigator.journey.calls import Message
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.material import Material
from navigator.journey.scan import offer
from navigator.journey.scan_answer import KINDS, MOST
from navigator.model.text import safe_line

PURPOSE = "divide"

TOO_LARGE = "too_large"
"""A call's outcome once its answer was that the task is more than one change."""

FILES_A_TASK = 8


async def divide(
    deps: Dependencies, material: Material, conversation: Sequence[Message], text: str, reason: str
) -> None:
    """Ask, in the conversation whose last answer is `text`, for tasks that the task divides into, and offer them.

    Raises:
        ServingError: the server did not answer; the task is back in the queue.
    """
    kinds = [kind.value for kind in KINDS]
    _, user, version = deps.prompts.render(PURPOSE, kinds=kinds, most=MOST, files=FILES_A_TASK)
    messages = [*conversation, {"role": "assistant", "content": text}, {"role": "user", "content": user}]
    shown = await asyncio.to_thread(_shown, material)
    why = f"The task is too large for one change: {safe_line(reason)}\n\n"
    await offer(deps, material, PURPOSE, version, messages, shown, why)


def _shown(material: Material) -> dict[str, str]:
    """path -> text of every file of which the writer was shown something. Reads git: call it in a thread."""
    context, talk = material.prompted.context, material.talk
    looked = [path for turn in talk.turns for answer in turn.answers for path in answer.paths] if talk else []
    paths = dict.fromkeys([*(piece.path for piece in (*context.files, *context.excerpts)), *looked])
    return {path: text for path in paths if (text := readable(material.source, path)[0]) is not None}
