"""What `navigator lab speculation measure` ends with: whether to speculate, from what was measured."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from navigator.cli import output
from navigator.lab.speculation.decide import Arm, Choice, decide
from navigator.lab.speculation.runs import Run
from navigator.model.errors import MissingPart, UsageError
from navigator.model.states import Role


def decision(runs: list[Run], role: Role, options: dict[str, Any]) -> dict[str, Any]:
    """The decision as JSON has it, and as `tell_decision` prints it; `missing` says why nothing can be decided yet.

    Args:
        options: restart_seconds, tokens_until_swap, profile and write, as given.

    Raises:
        UsageError: a profile is wanted that cannot be written.
    """
    restart, until, source = _costs(role, options)
    try:
        choice = decide(runs, restart_seconds=restart, tokens_until_swap=until)
    except MissingPart as error:
        if options["write"] is not None:
            raise
        return {"decision": "cannot tell", "missing": error.message}
    written = _profile(choice, runs, role, options)
    return {**asdict(choice), "profile": written and str(written), "costs": source}


def tell_decision(found: dict[str, Any]) -> None:
    """The decision, for people."""
    if "missing" in found:
        output.say(f"Nothing is decided yet. {found['missing']}")
        return
    heads = ("method", "γ", "starts", "tok/s", "without", "gain", "95 %", "between starts", "decision")
    output.emit(output.table(heads, (_row(Arm(**arm)) for arm in found["arms"]), right=range(1, 8)))
    output.say()
    output.say(found["sentence"], bold=True)
    if found["restart"] is not None:
        output.say(f"A start takes {output.duration(found['restart']['seconds'])} ({found['costs']}).")
    if found["profile"] is not None:
        output.say(f"Written: {found['profile']}")


def _costs(role: Role, options: dict[str, Any]) -> tuple[float, float, str]:
    """Seconds of a start, tokens until the next swap, and whose figures they are."""
    from navigator.cascade.views.figures import measured_figures
    from navigator.cli.session import reading
    from navigator.config.settings import load_settings

    with reading() as store:
        figures, names = measured_figures(store, load_settings().swap)
    generator = role is Role.GENERATOR
    seconds, tokens = (
        (figures.swap_back, figures.proposal_tokens)
        if generator
        else (figures.swap_in, figures.review_tokens)
    )
    wanted = ("swap_back", "proposal_tokens") if generator else ("swap_in", "review_tokens")
    source = [
        f"{name}: {'given' if given is not None else 'measured here' if name in names else 'as published, not measured here'}"
        for name, given in zip(
            wanted, (options["restart_seconds"], options["tokens_until_swap"]), strict=True
        )
    ]
    restart, until = options["restart_seconds"], options["tokens_until_swap"]
    return (
        seconds if restart is None else restart,
        load_settings().batch.target * tokens if until is None else until,
        "; ".join(source),
    )


def _profile(choice: Choice, runs: list[Run], role: Role, options: dict[str, Any]) -> Path | None:
    if options["write"] is None:
        return None
    if choice.chosen is None:
        raise UsageError("There is no method to write into a profile.", hint=choice.sentence)
    mine = [run for run in runs if (run.draft, run.gamma) == (choice.chosen.draft, choice.chosen.gamma)]
    if any(run.random_weights for run in mine):
        raise UsageError(
            "These runs are of models with random weights: no profile is written from them.",
            hint="Measure the models that the profile names.",
        )
    if (engine := next((run.engine for run in mine if run.engine), "sglang")) != "sglang":
        raise UsageError(
            f"These runs are of {engine}; profiles start SGLang.",
            hint="Measure SGLang, or change the server's own start.",
        )
    from navigator.config.resources import resource_dir
    from navigator.lab.speculation.profile import profile_with, sglang_flags
    from navigator.setup.profiles import load_profile

    folder = resource_dir("swap") / "profiles"
    name = options["profile"]
    if not name:
        raise UsageError("--write needs the profile to write into.", hint="Add --profile NAME.")
    source = Path(name).expanduser() if name.endswith(".toml") else folder / f"{name}.toml"
    load_profile(name, folder)
    arguments = next((run.arguments for run in mine if run.arguments), ())
    flags = sglang_flags(choice.chosen.draft, choice.chosen.gamma, arguments)
    path: Path = options["write"]
    path.write_text(profile_with(source, role, flags, choice.sentence), encoding="utf-8")
    load_profile(str(path), folder)
    return path


def _row(arm: Arm) -> tuple[object, ...]:
    interval = "–" if arm.low is None or arm.high is None else f"{arm.low - 1:+.1%} to {arm.high - 1:+.1%}"
    return (
        arm.draft,
        arm.gamma,
        arm.blocks,
        f"{arm.speed:.1f}",
        f"{arm.base_speed:.1f}",
        f"{arm.speedup - 1:+.1%}",
        interval,
        "–" if arm.between is None else f"{100 * arm.between:.1f} pp",
        f"{arm.verdict}: {arm.reason}",
    )
