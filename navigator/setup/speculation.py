"""A decision of the lab in the unit of a role's server, so that its next residency uses it, and when to measure again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from navigator.config.settings import load_settings
from navigator.lab.speculation.decide import Choice, decide
from navigator.lab.speculation.plan import Plan
from navigator.lab.speculation.runs import Run
from navigator.model import patterns
from navigator.model.errors import Conflict, UsageError
from navigator.model.json_text import read_json
from navigator.model.states import Role
from navigator.setup.files import PlannedFile, read_text, sealed, state_of
from navigator.setup.install import carry_out, flags_of_unit, places_of, reload_systemd
from navigator.setup.render import quoted
from navigator.swap.machine import HERE, Machine, card_names

_NOTE = patterns.compile(r"# Speculation: (.*)\n")
_STARTED = patterns.compile(r"^ExecStart=(?:.*\\\n)*.*$", patterns.MULTILINE)
_NEXT = " \\\n"


def write_decision(runs: Sequence[Run], role: Role, plan: Plan, note: Callable[[str], None]) -> Path:
    """Decide from the runs and put it into the unit of the role's server; returns the unit's file.

    Raises:
        UsageError, Conflict, MissingPart: as `write_launch` and `decide`.
    """
    own = load_settings().swap.systemd
    places = places_of(own.scope)
    unit = places.unit(own.generator_unit if role is Role.GENERATOR else own.reviewer_unit)
    started = flags_of_unit(read_text(unit, places.on) or "").get("--model-path")
    arm = next((arm for arm in plan.arms if arm.model == started), plan.arms[0])
    mine = [run for run in runs if run.target == arm.target]
    write_launch(unit, places.on, decide(mine), mine, arm.model)
    if problem := reload_systemd(places):
        note(f"systemd did not reload: {problem}. Run {' '.join(places.systemctl)} daemon-reload.")
    return unit


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
    note = _facts(started, runs[-1].version, runs[-1].card, on) | {"decided": choice.sentence}
    body = f"# Speculation: {json.dumps(note, ensure_ascii=False)}\n" + _NOTE.sub("", text.partition("\n")[2])
    for command in _STARTED.findall(body):
        kept = [each for each in command.split(_NEXT) if not each.lstrip().startswith("--speculative")]
        body = body.replace(command, _NEXT.join(kept) + flags)
    carry_out([PlannedFile(unit, sealed(body), on=on)])


def to_look_at(text: str, version: str, on: Machine = HERE) -> str:
    """Why a unit's speculation has to be measured again, in words; "" where nothing changed or none was decided.

    Args:
        text: of the unit, on the machine `on`.
        version: of the SGLang that it starts; "" where that is unknown.
    """
    found = _NOTE.search(text)
    if found is None:
        return ""
    noted = read_json(found[1])
    now = _facts(flags_of_unit(text).get("--model-path", ""), version, card_names(on), on)
    changed = [name for name, value in now.items() if value and noted[name] and value != noted[name]]
    return ", ".join(f"{name}: {noted[name]} then, {now[name]} now" for name in changed)


def _facts(model: str, version: str, card: str, on: Machine) -> dict[str, str]:
    """What the decision depends on. `files`: a digest of the model's config and index, where it is a folder."""
    read = [on.read(Path(model) / name) for name in ("config.json", "model.safetensors.index.json")]
    files = b"".join(each[0] for each in read if each is not None)
    digest = hashlib.sha256(files).hexdigest()[:12] if files else ""
    return {"model": model, "files": digest, "engine": version, "card": card}
