"""Workers started from a function, so that a cancelled worker leaves no coroutine unawaited."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, cast

from textual.dom import DOMNode
from textual.worker import WorkType


def begin(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, object]], *, group: str, exclusive: bool = False
) -> None:
    """Run `work` on the event loop; an exclusive one ends the others of its group."""
    node.run_worker(cast("WorkType[None]", work), group=group, exclusive=exclusive)
