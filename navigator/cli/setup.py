"""`navigator setup` finds servers, writes the settings and adds projects, `config` shows them, `doctor` says what is missing."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import click

from navigator.cli import output
from navigator.cli.command import Commands, Folder, Value, command, switch_given
from navigator.cli.session import state_paths
from navigator.config.paths import config_path
from navigator.config.reference import described_lines
from navigator.config.settings import describe, load_settings
from navigator.model.errors import MissingPart, UsageError
from navigator.model.text import plural, safe_line
from navigator.setup.plan import MemoryPlan, plan_here
from navigator.setup.servers import (
    GUESSED_CONTEXT,
    SMALL_CONTEXT,
    FoundServer,
    Pick,
    find_servers,
    how_to_get_one,
    pick_named,
    picks,
    require_usable,
    settings_text,
    strategy_for,
    suggested_again,
    try_models,
)
from navigator.swap import strategy_class, strategy_names

_tell = partial(output.prose, err=True)
_SHOWN = 6

_Strategy = Annotated[
    str, Value(type=click.Choice([name for name in strategy_names() if name != "rehearsal"]))
]


@command(json=False, yes=True)
def setup(
    *,
    server: Annotated[tuple[str, ...], Value("URL")] = (),
    generator: Annotated[str | None, Value("M")] = None,
    reviewer: Annotated[str | None, Value("M")] = None,
    strategy: _Strategy | None = None,
    projects: Folder | None = None,
    print_: bool = False,
) -> None:
    """Find model servers and write the settings; with --projects, add repositories.

    Asks the usual addresses of this machine and those that you name. One model is enough: it can write and review.

    Args:
        server: A server to ask too; may be repeated.
        generator: The model that writes.
        reviewer: The model that reviews.
        strategy: How models are swapped; default: what fits the servers.
        projects: Add the git repositories below this folder.
        print_: Print the settings, and write nothing.
    """
    asks = not switch_given("--yes") and sys.stdin.isatty()
    if not (switch_given("--yes") or asks or print_):
        raise UsageError(
            "There is no terminal to ask at, and nothing was done.", hint="Add --yes, or --print."
        )
    found = asyncio.run(find_servers(server))
    _show_servers(found)
    silent = [server.url for server in found if server.problem and not asks]
    if silent and server:
        raise MissingPart(f"{', '.join(silent)} does not answer.", hint="Start it, or leave --server out.")
    choices = picks(found)
    if not choices:
        raise MissingPart("No model server answers.", hint=how_to_get_one())
    writes, reviews = _roles(choices, generator, reviewer, asks=asks)
    fits, why = strategy_for(writes, reviews)
    if strategy not in (None, fits):
        fits, why = str(strategy), "as you asked"
    _tell(f'Strategy "{fits}": {why}.')
    require_usable(settings_text(writes, reviews, fits, why, (None, None)))
    output.note(f"Asking {safe_line(writes.model)} one question; it may have to be loaded first …")
    seconds, contexts = asyncio.run(try_models(writes, reviews))
    _tell(f"It answered after {output.duration(seconds)}.")
    _say_contexts(contexts[0], writes)
    _write_settings(settings_text(writes, reviews, fits, why, contexts), asks=asks, only_print=print_)
    if projects is not None and not print_:
        from navigator.cli.project import add_below

        if add_below(projects)["projects"]:
            output.note("`navigator project check NAME` tries a project's test command.")
    if not print_:
        _tell(
            "Next, in a repository: `navigator review main..topic` reviews a branch; `navigator project add .`,"
            ' `navigator task add "…"` and `navigator run --until idle` have a change written.'
            " `navigator doctor` checks everything."
        )


def _show_servers(found: Sequence[FoundServer]) -> None:
    for server in found:
        more = len(server.models) - _SHOWN
        models = ", ".join(map(safe_line, server.models[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
        output.note(f"{server.name:<11} {server.url:<26} {server.problem or models}")


def _roles(
    choices: Sequence[Pick], generator: str | None, reviewer: str | None, *, asks: bool
) -> tuple[Pick, Pick]:
    """Which model writes and which reviews: as named, as answered, else as suggested."""
    fast, strong = suggested_again(choices)
    if asks and len(choices) > 1 and not (generator and reviewer):
        for number, pick in enumerate(choices, 1):
            output.note(f"{number:>3}  {safe_line(pick.model)}  ({pick.server.name})")
    writes = (
        pick_named(choices, generator)
        if generator
        else _choose(choices, "Which model writes?", fast, asks=asks)
    )
    reviews = (
        pick_named(choices, reviewer) if reviewer else _choose(choices, "Which reviews?", strong, asks=asks)
    )
    if writes == reviews:
        _tell(
            f"{safe_line(writes.model)} does both. It reviews your work as any model would. Its reviews of what it wrote itself"
            " are marked self-reviewed, because it misses its own mistakes."
        )
    return writes, reviews


def _choose(choices: Sequence[Pick], question: str, default: Pick, *, asks: bool) -> Pick:
    if not asks or len(choices) == 1:
        return default
    number = click.prompt(
        question, type=click.IntRange(1, len(choices)), default=list(choices).index(default) + 1, err=True
    )
    return choices[int(number) - 1]


def _say_contexts(context: int | None, pick: Pick) -> None:
    if context is None:
        _tell(
            f"{pick.server.name} does not say how long a context the model has; {GUESSED_CONTEXT:,} tokens are assumed. Correct"
            " context_tokens in the settings if it has fewer."
        )
    elif context < SMALL_CONTEXT:
        _tell(
            f"! The model has a context of {context:,} tokens, too short for most changes. Load it with a longer one (Ollama:"
            " OLLAMA_CONTEXT_LENGTH=32768; llama.cpp: --ctx-size 32768, times the number of its slots), then run setup again."
        )


def _write_settings(text: str, *, asks: bool, only_print: bool) -> None:
    """Write the settings file, unless it says that already or somebody else wrote it."""
    from navigator.setup.files import PlannedFile, action_for, sealed, shown_diff, state_of, write

    planned = PlannedFile(config_path(), sealed(text, by="navigator setup"), 0o600)
    if only_print:
        output.say(text)
        return
    action = action_for(planned)
    if action == "same":
        output.note(f"{planned.path} says so already.")
        return
    if action == "change":
        output.note(shown_diff(planned).rstrip("\n"))
        if state_of(planned.path) != "ours":
            _tell(f"{planned.path} has your own changes and stays. Above: what setup would write.")
            return
    if asks and not click.confirm(f"Write {planned.path}?", default=True, err=True):
        raise click.Abort
    write(planned)
    output.note(f"Wrote {planned.path}.")


@click.group(cls=Commands)
def config() -> None:
    """Show and check the settings."""


@command(config, json=False)
def path() -> None:
    """Print the path of the settings file, which need not exist."""
    output.say(str(config_path()))


@command(config)
def show() -> None:
    """Print every setting, its meaning, and whether the file or the default set it."""
    settings = load_settings()
    output.show(describe(settings), lambda found: output.say("\n".join(described_lines(settings, found))))


@command(config)
def check() -> None:
    """Check that the settings file can be used."""
    settings = load_settings()
    strategy = settings.swap.strategy
    if strategy is not None:
        strategy_class(strategy).check(settings)
    written = (
        f"{settings.source} is valid."
        if settings.source
        else f"There is no settings file at {config_path()}; all defaults apply. `navigator setup` writes one."
    )
    output.show({"file": settings.source, "sound": True}, lambda _: output.say(written))


# What is here, what is missing, how to get it; with --plan, what fits on a card

_MARKS = {"ok": "✓", "warn": "!", "missing": "✗"}

_STRATEGIES = {
    "resident": 'strategy = "resident"',
    "sleep": 'strategy = "sleep"',
    "swap": 'strategy = "systemd" or "managed"',
}

_Gigabytes = Annotated[float, Value("GB", type=click.FloatRange(min=1))]
_Model = Annotated[str, Value("MODEL")]


@command()
def doctor(
    *,
    plan: bool = False,
    card: _Gigabytes | None = None,
    ram: _Gigabytes | None = None,
    generator: _Model | None = None,
    reviewer: _Model | None = None,
) -> None:
    """Check what Navigator needs: what is there, what is missing, how to get it.

    Exits with 3 if something is missing.

    Args:
        plan: Show instead how much GPU memory a pair of models needs, and how to swap.
        card: With --plan: GPU memory, of 1,024 MiB.
        ram: With --plan: host memory.
        generator: With --plan: a name, or a folder with a config.json.
        reviewer: With --plan: the same for the model that reviews.
    """
    if plan:
        made = plan_here(load_settings(), card=card, ram=ram, generator=generator, reviewer=reviewer)
        output.show(made, _show_plan)
        return
    if card or ram or generator or reviewer:
        raise UsageError("Those options belong to --plan.", hint="Add --plan.")
    from navigator.setup.doctor import look_at_everything

    paths = state_paths()
    items = list(look_at_everything(paths))
    counts = Counter(item.state for item in items)

    def text(_: object) -> None:
        for item in items:
            first = f"{_MARKS[item.state]} {item.state:<8} {item.name:<16} "
            output.prose(item.found, " " * 28, first=first)
            if item.hint:
                output.prose(item.hint, " " * 28)
        warnings = plural(counts["warn"], "warning")
        output.say(f"\n{counts['ok']} ok, {warnings}, {counts['missing']} missing. Log: {paths.log}")

    output.show(
        {"items": items, "log": paths.log, "ok": not counts["missing"]},
        text,
        code=3 * bool(counts["missing"]),
    )


def _show_plan(found: MemoryPlan) -> None:
    output.prose(
        f"A GPU of {found.card:,} MiB, {found.ram:,} MiB of host memory, a context of {found.tokens:,} tokens"
    )
    for model in (found.generator, found.reviewer):
        output.prose(
            f"{model.name}: weights {model.weights_mib:,} MiB, from {model.weights_source}; states of a request"
            f" {model.states_mib:,} MiB; shape from {model.shape.source}",
            "  ",
        )
    output.say()
    output.table(
        found.fits,
        ("keys and values", lambda fit: fit.cache),
        ("generator", lambda fit: f"{fit.contexts[0]:,} MiB"),
        ("at once", lambda fit: fit.at_once[0]),
        ("reviewer", lambda fit: f"{fit.contexts[1]:,} MiB"),
        ("at once", lambda fit: fit.at_once[1]),
        ("one of each", lambda fit: f"{fit.needed:,} MiB"),
        ("left", lambda fit: f"{fit.left:,} MiB"),
    )
    output.prose(
        "At once: how many whole contexts fit, with their states, while that model is alone on the GPU. All figures are"
        " computed; 2,000 MiB per server is an estimate of what the formulas leave out."
    )
    output.say()
    output.prose(f"{_STRATEGIES.get(found.way, 'It does not fit')}: {found.why}", bold=True)
