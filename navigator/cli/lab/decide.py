"""`navigator lab speculation decide`: whether to speculate, from what was measured."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from navigator.cli import output
from navigator.cli.lab.places import role_option, runs_file
from navigator.domain.errors import MissingPart, UsageError
from navigator.domain.states import Role
from navigator.lab.speculation.controller import Replay, Trace, replay
from navigator.lab.speculation.decide import Arm, Choice
from navigator.lab.speculation.decide import decide as decided
from navigator.lab.speculation.measuring.progress import RANDOM
from navigator.lab.speculation.runs import Run, read_runs
from navigator.lab.speculation.traces import ngram_trace, words_of


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@role_option("Whose server is decided about.")
@click.option(
    "--restart-seconds",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Of a start; default: of its last swaps.",
)
@click.option(
    "--tokens-until-swap",
    type=click.FloatRange(min=0),
    metavar="N",
    help="That the model writes before it is swapped out; default: a batch's.",
)
@click.option(
    "--profile", metavar="NAME", help="Profile to write the choice into: a packaged one or a .toml file."
)
@click.option(
    "--write", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the profile here."
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Replay a recorded generation instead: the controller against every draft length and the best possible.",
)
@click.option(
    "--text",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Replay writing this text, with drafts from its own past (n-grams); costs from --round-cost.",
)
@click.option(
    "--round-cost",
    type=click.FloatRange(min=0),
    default=0.1,
    show_default=True,
    metavar="X",
    help="With --text: what each drafted token adds to a round, in steps. An assumption; measure it.",
)
@output.JSON
def decide(
    file: Path | None, role: str, as_json: bool, trace: Path | None, text: Path | None, **options: Any
) -> None:
    """Decide whether to start a role's server with speculative decoding, from the runs in FILE.

    FILE is what `measure` wrote (by default this role's), or any table that names the start block of each run. Without at least
    five blocks nothing is decided.
    """
    if trace is not None or text is not None:
        _replay(
            _recorded(trace) if trace else _written(text, options["round_cost"]),
            as_json,
            assumed=trace is None,
        )
        return
    found = file or runs_file(Role(role))
    if not found.exists():
        raise MissingPart(
            f"Nothing was measured for the {role}: there is no {found}.",
            hint="`navigator lab speculation measure PLAN.toml` measures.",
        )
    runs = read_runs(found).runs
    restart, until, source = _costs(Role(role), options)
    choice = decided(runs, restart_seconds=restart, tokens_until_swap=until)
    written = _profile(choice, runs, Role(role), options)
    about = sorted({run.about for run in runs if run.about})
    random = any(run.random_weights for run in runs)
    if as_json:
        document = {"role": role, "file": str(found), **asdict(choice), "profile": written and str(written)}
        output.print_json(document | {"costs": source, "about": about, "random_weights": random})
    else:
        _tell(choice, source, about, random, written)


def _costs(role: Role, options: dict[str, Any]) -> tuple[float, float, str]:
    """Seconds of a start, tokens until the next swap, and whose figures they are."""
    from navigator.cascade.views.figures import measured_figures
    from navigator.cli.session import reading
    from navigator.config.settings import load_settings

    with reading() as store:
        figures, names = measured_figures(store)
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
    from navigator.serving.setup.profiles import load_profile

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


def _tell(choice: Choice, source: str, about: list[str], random: bool, written: Path | None) -> None:
    if random:
        output.say(RANDOM, bold=True)
    for line in about:
        output.say(f"Measured with: {line}")
    heads = ("method", "γ", "starts", "tok/s", "without", "gain", "95 %", "between starts", "decision")
    output.emit(output.table(heads, map(_row, choice.arms), right=range(1, 8)))
    output.say()
    output.say(choice.sentence, bold=True)
    if choice.restart is not None:
        output.say(f"A start takes {output.duration(choice.restart.seconds)} ({source}).")
    if written is not None:
        output.say(f"Written: {written}")


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


def _recorded(path: Path) -> Trace:
    try:
        table = json.loads(path.read_bytes())
        trace = Trace(
            tuple(max(0, int(each)) for each in table["accepted"]),
            {int(gamma): float(cost) for gamma, cost in table["costs"].items()},
        )
        if not trace.accepted or min(trace.costs.values()) <= 0 or not {0} < trace.costs.keys():
            raise ValueError("it needs positions, and costs above zero for length 0 and at least one other")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is no trace: {error}.",
            hint='A trace is {"accepted": [drafts accepted at each position], "costs": {"0": seconds, "1": …}}.',
        ) from error
    return trace


def _written(path: Path | None, cost: float) -> Trace:
    assert path is not None
    try:
        words = words_of(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    if not words:
        raise UsageError(f"{path} is empty.")
    longest = 8
    return Trace(ngram_trace(words, longest), {gamma: 1 + cost * gamma for gamma in range(longest + 1)})


def _replay(trace: Trace, as_json: bool, *, assumed: bool) -> None:
    found = replay(trace)
    if as_json:
        output.print_json(asdict(found) | {"costs_assumed": assumed})
        return
    _tell_replay(found)
    if assumed:
        output.say(
            "Costs are assumed, words stand for tokens, and the model is taken to write this very text."
        )


def _tell_replay(found: Replay) -> None:
    rows = [
        *(
            (f"γ = {gamma} throughout" if gamma else "no speculation", f"{time:.3f}")
            for gamma, time in found.static.items()
        ),
        ("controller", f"{found.controlled:.3f}"),
        ("best possible", f"{found.oracle:.3f}"),
    ]
    output.emit(output.table((f"{found.tokens:,} tokens", "time, plain = 1"), rows, right=(1,)))
    output.say(
        f"The controller spent {found.tested:.0%} of its iterations on tests. Over any {found.stretch:,} tokens it was at most"
        f" {max(0.0, found.worst_slowdown):.1%} slower than plain decoding."
    )
