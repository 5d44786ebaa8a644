"""The decided method in the unit of a role's server, so that its next residency uses it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from navigator.lab.speculation.decide import Choice
from navigator.lab.speculation.runs import Run
from navigator.model import patterns
from navigator.model.errors import Conflict, UsageError
from navigator.setup.files import PlannedFile, read_text, sealed, state_of
from navigator.setup.host_probe import flags_of_unit
from navigator.setup.install import carry_out
from navigator.setup.render import quoted
from navigator.swap.remote.machine import Machine

_STARTED = patterns.compile(r"^ExecStart=(?:.*\\\n)*.*$", patterns.MULTILINE)
_NEXT = " \\\n"


def write_launch(unit: Path, on: Machine, choice: Choice, runs: Sequence[Run], model: str) -> None:
    """Have a unit start its server as decided; systemd has to reload it afterwards.

    Args:
        unit: its file, on the machine `on`.
        choice: what was decided from `runs`.
        model: the folder or name of the model that was measured.

    Raises:
        UsageError: nothing is decided, or it was measured on something else than the unit starts.
        Conflict: the unit is not as `navigator swap install` wrote it.
        MissingPart: its folder cannot be written.
    """
    text = read_text(unit, on) or ""
    started = flags_of_unit(text).get("--model-path", "")
    if choice.decision == "cannot tell":
        raise UsageError("Nothing is decided: the unit stays as it is.", hint=choice.sentence)
    if any(run.random_weights or run.engine != "sglang" for run in runs):
        raise UsageError("Units start SGLang with trained models; these runs are of others.")
    if state_of(unit, on) != "ours":
        raise Conflict(f"{unit} is not as `navigator swap install` writes it.", hint="Install it first.")
    if model != started:
        raise UsageError(f"{unit} starts {started}; {model or 'another model'} was measured.")
    chosen = choice.chosen
    mine = [run for run in runs if chosen and (run.draft, run.gamma) == (chosen.draft, chosen.gamma)]
    words = mine[0].arguments if mine else ()
    flags = "".join((f"{_NEXT}    " if word.startswith("--") else " ") + quoted(word) for word in words)
    body = text.partition("\n")[2]
    for command in _STARTED.findall(body):
        kept = [each for each in command.split(_NEXT) if not each.lstrip().startswith("--speculative")]
        body = body.replace(command, _NEXT.join(kept) + flags)
    carry_out([PlannedFile(unit, sealed(body), on=on)])
