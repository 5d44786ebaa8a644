"""Strategy `command`: a program of the user's own swaps.

It is started with the role in place of `{role}`, in its own process group and with limited time, and is ended with
everything it started when the time is up. Exit code 0 means that the role answers, which is checked all the same. If
it prints the lines of `model-swap.sh` (`swap phase=… state=… t=…`), its phases are shown and kept; otherwise the whole run
is one phase, `load`.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from navigator.model.states import Role
from navigator.model.text import safe_line
from navigator.process.runner import Ended, running
from navigator.swap.base import LOAD_SECONDS, PhaseEvent, PhaseLog, PhaseState, SwapStrategy
from navigator.swap.failures import SwapFailed, class_of_words, until
from navigator.swap.lines import ScriptLog

_VERIFY_SECONDS = 30.0


class CommandStrategy(SwapStrategy):
    """Runs `[swap.command] argv`."""

    name = "command"
    about = "your own program changes the model"
    restarts_servers = True
    reads_weights = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._own = self._settings.swap.command

    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        if previous is not None:
            await self._drain(previous, log, detail)
        script, began = ScriptLog(log), time.monotonic()
        log.report(PhaseEvent("load", "begin", 0.0))
        state: PhaseState = "fail"
        try:
            ended = await self._run(_with_role(self._own.argv, to), LOAD_SECONDS, script.feed)
            script.close()
            state = "done" if ended.code == 0 else "fail"
        except TimeoutError:
            raise SwapFailed(
                f"The swap command did not end within {LOAD_SECONDS:g} s and was stopped.",
                hint="Run it in a terminal to see what it waits for.",
                failure="timeout",
            ) from None
        finally:
            if not script.told_phases:  # the whole run is one phase
                log.ended(PhaseEvent("load", state, time.monotonic() - began))
        if ended.code != 0:
            failure, words = script.failure()
            told = words or ended.last_words
            raise SwapFailed(
                f"The swap command ended with code {ended.code}. {told}".strip(),
                hint="Run it in a terminal to see more.",
                failure=failure or class_of_words(told),
            )
        with log.phase("verify"):
            await self._verify(to)

    async def _verify(self, to: Role) -> None:
        """The command says that it is done: within moments the role must answer."""
        async for _ in until(min(_VERIFY_SECONDS, LOAD_SECONDS)):
            if await self._is_resident(to):
                return
        server = self.server(to)
        raise SwapFailed(
            f"The swap command succeeded, but {server.base_url} does not serve {server.model}.",
            hint="It must end only when the model answers; `model` must be the name that the server lists.",
            failure="wrong_model",
        )

    async def _run(
        self, argv: Sequence[str], seconds: float, on_output: Callable[[bytes], None] = lambda chunk: None
    ) -> Ended:
        """Run the command; raises as `running`, and SwapFailed if it cannot be started."""
        program = shutil.which(Path(argv[0]).expanduser())
        if program is None:
            raise SwapFailed(
                f"The swap command {safe_line(argv[0])} does not exist or is not executable.",
                hint="Correct argv under [swap.command].",
            )
        return await running([program, *argv[1:]], seconds, on_output, leaves=True)


def _with_role(argv: Sequence[str], role: Role) -> list[str]:
    """The words with the role in place of `{role}`, or after them if it appears nowhere."""
    filled = [word.replace("{role}", role.value) for word in argv]
    return filled if filled != list(argv) else [*filled, role.value]


STRATEGY = CommandStrategy
