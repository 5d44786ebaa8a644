"""`navigator doctor`: what is installed, what is missing and how to get it; where the log is."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Literal

import click

from navigator import __version__
from navigator.cli import output
from navigator.cli.session import state_paths
from navigator.client.status import ServerLook
from navigator.config.paths import STATE_VARIABLE, StatePaths, config_path
from navigator.config.settings import ServerSettings, Settings, load_settings
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.states import Role
from navigator.store.database import is_low
from navigator.swap.base import Check

_SPARE_MB = 1024


@click.command()
@click.option(
    "--plan", is_flag=True, help="Show instead how much GPU memory a pair of models needs, and how to swap."
)
@click.option(
    "--card", type=click.FloatRange(min=1), metavar="GB", help="With --plan: GPU memory, of 1,024 MiB."
)
@click.option("--ram", type=click.FloatRange(min=1), metavar="GB", help="With --plan: host memory.")
@click.option("--generator", metavar="MODEL", help="With --plan: a name, or a folder with a config.json.")
@click.option("--reviewer", metavar="MODEL", help="With --plan: the same for the model that reviews.")
@click.option(
    "--context", type=click.IntRange(min=1024), metavar="TOKENS", help="With --plan; default: 131072."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(plan: bool, as_json: bool, context: int | None, **planned: Any) -> None:
    """Check what Navigator needs: what is there, what is missing, how to get it.

    Exits with 3 if something is missing.
    """
    if plan:
        from navigator.cli.doctor.plan import show_plan

        show_plan(**planned, context=context or 131_072, as_json=as_json)
        return
    if context is not None or any(value is not None for value in planned.values()):
        raise UsageError("Those options belong to --plan.", hint="Add --plan.")
    paths = state_paths()
    items = list(_look(paths))
    missing = any(item.state == "missing" for item in items)
    if as_json:
        output.print_json(
            {"items": [asdict(item) for item in items], "log": str(paths.log), "ok": not missing}
        )
    else:
        marks = {"ok": "✓", "warn": "!", "missing": "✗"}
        for item in items:
            output.prose(item.found, " " * 28, first=f"{marks[item.state]} {item.state:<8} {item.name:<16} ")
            if item.hint:
                output.prose(item.hint, " " * 28)
        counts = {state: sum(item.state == state for item in items) for state in marks}
        warnings = f"{counts['warn']} warning{'' if counts['warn'] == 1 else 's'}"
        output.say(f"\n{counts['ok']} ok, {warnings}, {counts['missing']} missing. Log: {paths.log}")
    if missing:
        sys.exit(3)


def _look(paths: StatePaths) -> Iterator[Check]:
    from navigator.cli.doctor.serving import card_items, serving_items

    yield Check("navigator", "ok", f"{__version__}, Python {platform.python_version()}, {sys.executable}")
    yield _git()
    yield _identity(paths)
    yield _check_folder(paths)
    database = _database(paths)
    yield database
    if database.state == "ok" and paths.database.exists():
        yield from _second_model(paths)
    try:
        settings = load_settings()
    except NavigatorError as error:
        yield _bubblewrap(unsandboxed=False)
        yield Check("settings", "missing", error.message, error.hint)
        return
    yield _bubblewrap(unsandboxed=settings.checks.unsandboxed)
    yield Check("settings", "ok", str(settings.source or f"no file at {config_path()}: all defaults"))
    if settings.checks.unsandboxed:
        yield Check(
            "tests",
            "warn",
            "projects' tests run UNSANDBOXED: code that a model wrote runs as you",
            "Remove unsandboxed from [checks] in the settings.",
        )
    yield _prompts(settings)
    if settings.on.events:
        yield _events(settings)
    yield from card_items()
    found = list(strategy_items(settings, paths))
    yield from found
    if not settings.swap.host:
        yield from serving_items(settings)
    elif not any(item.state == "missing" and item.name in ("swap strategy", "ssh") for item in found):
        from navigator.cli.doctor.remote import remote_items

        yield from remote_items(settings)
    if settings.generator.agent.command:
        yield _agent(settings)


def _git() -> Check:
    from navigator.git.runner import find_git

    try:
        return Check("git", "ok", str(find_git()))
    except NavigatorError as error:
        return Check("git", "missing", error.message, error.hint)


def _agent(settings: Settings) -> Check:
    """The coding agent that writes: started in the sandbox, and asked one question where the generator is loaded."""
    from navigator.agents.trial import TrialResult, try_agent
    from navigator.client.client import ModelClient
    from navigator.client.errors import ServingError

    async def tried() -> TrialResult:
        try:
            async with ModelClient(settings.generator) as client:
                await client.require_model()
            loaded = True
        except ServingError:
            loaded = False
        return await try_agent(settings, ask=loaded)

    found = asyncio.run(tried())
    if found.problem:
        said = f"{found.agent} starts, but: {found.problem}" if found.agent else found.problem
        return Check("agent", "missing", said, found.hint)
    if found.reached is None:
        hint = "Load the generator (`navigator swap to generator`) and run doctor again to see whether it reaches the model."
        return Check(
            "agent", "ok", f"{found.agent} starts; the generator is not loaded, so it was not asked", hint
        )
    return Check("agent", "ok", f"{found.agent} starts and reaches the model ({found.reached} requests)")


def _identity(paths: StatePaths) -> Check:
    """Whether git knows the author of landed commits: the user's own settings name one, or each project's repository does."""
    from navigator.git.facts import read_facts
    from navigator.git.runner import Git
    from navigator.landing.plan import read_people, unknown_person
    from navigator.store.database import open_reader
    from navigator.store.reads.reader import Reader

    if people := read_people(Git(paths.root, user_config=True)):
        return Check("git identity", "ok", f"{people[0].name} <{people[0].email}>")
    known: list[str] = []
    without: list[str] = []
    with contextlib.suppress(
        NavigatorError, sqlite3.Error
    ):  # no database yet, or one that has a line of its own
        with contextlib.closing(open_reader(paths.database)) as connection:
            projects = Reader(connection).projects()
        for project in projects:
            with contextlib.suppress(NavigatorError):  # moved away: `project list` says so
                people = read_people(read_facts(project.path).git(user_config=True))
                (known if people else without).append(project.name)
    if known and not without:
        return Check("git identity", "ok", "each project's repository names one; your own settings do not")
    return Check("git identity", "warn", unknown_person(", ".join(without)))


def _database(paths: StatePaths) -> Check:
    """Whether the database can be opened and is intact."""
    from navigator.store.database import open_reader, quick_check

    if not paths.database.exists():
        return Check("database", "ok", "none yet; the first command creates it")
    try:
        connection = open_reader(paths.database)
        try:
            said = quick_check(connection)
        finally:
            connection.close()
    except NavigatorError as error:
        return Check("database", "missing", error.message, error.hint)
    except sqlite3.Error as error:
        return Check("database", "missing", f"{paths.database}: {error}", f"Backups are in {paths.backups}.")
    if said != "ok":
        return Check(
            "database", "missing", f"{paths.database} is damaged: {said}", f"Backups are in {paths.backups}."
        )
    return Check("database", "ok", str(paths.database))


def _second_model(paths: StatePaths) -> Iterator[Check]:
    """What a second model is worth."""
    from navigator.sheet.statistics.reviewer import independence
    from navigator.store.database import open_reader
    from navigator.store.reads.reader import Reader

    try:
        connection = open_reader(paths.database)
    except NavigatorError:
        return  # the item about the database says what is wrong
    try:
        worth = independence(Reader(connection)).words
    finally:
        connection.close()
    yield Check("second model", "ok", worth, "`navigator exam run`, and with --writer, ask both.")


def _check_folder(paths: StatePaths) -> Check:
    free = shutil.disk_usage(paths.root).free // (1024 * 1024)
    mode = oct(paths.root.stat().st_mode & 0o777)
    try:
        with tempfile.TemporaryFile(dir=paths.root):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            words = f"{paths.root} ({mode}) cannot be written: {error.strerror}"
            hint = f"Make it writable, or set {STATE_VARIABLE} to another folder. Until then nothing can be changed."
            return Check("state folder", "missing", words, hint)
    if is_low(paths.root):
        return Check(
            "state folder",
            "missing",
            f"{paths.root} ({mode}), {free} MB free: the disk is full",
            "Free some space there: no new work starts before that.",
        )
    if free < _SPARE_MB:
        return Check(
            "state folder", "warn", f"{paths.root} ({mode}), {free} MB free", "Free some space there."
        )
    return Check("state folder", "ok", f"{paths.root} ({mode}), {free // 1024} GB free")


def _bubblewrap(*, unsandboxed: bool) -> Check:
    """Tried with every flag that a run uses: `bwrap true` succeeds where a network namespace is refused."""
    from navigator.sandbox.probe import probe

    found = probe()
    if found.works:
        return Check("bubblewrap", "ok", found.bwrap + (", control groups by systemd" if found.scope else ""))
    state: Literal["warn", "missing"] = "warn" if unsandboxed else "missing"
    return Check("bubblewrap", state, f"{found.reason}: proposals are not tested", found.hint)


def _prompts(settings: Settings) -> Check:
    """Whether the user's own prompt templates can be used; those that replace no packaged one are named."""
    from navigator.config.paths import resource_dir
    from navigator.journey.prompts.library import PromptLibrary

    try:
        library = PromptLibrary([resource_dir("prompts"), config_path().parent / "prompts"])
        library.check()
    except NavigatorError as error:
        return Check("prompts", "missing", error.message, error.hint)
    idle = [p.name for p in library.own if library.replaces(p) != p.name]
    if idle:
        hint = (
            "They replace no packaged prompt: `navigator prompts list` has the names. "
            "`navigator prompts try` can use them."
        )
        return Check("prompts", "warn", f"not used: {', '.join(idle)}", hint)
    mine = ", ".join(prompt.version for prompt in library.own)
    return Check("prompts", "ok", f"yours: {mine}" if mine else "the packaged ones")


def _events(settings: Settings) -> Check:
    """Whether the commands of [on] can be started."""
    from navigator.engine.on_events import program_of

    commands = {event: settings.on.command(event) for event in settings.on.events}
    lost = [f"{event}: {command[0]}" for event, command in commands.items() if program_of(command) is None]
    if lost:
        found = f"does not exist or is not executable: {', '.join(lost)}"
        return Check("events", "warn", found, "Correct [on] in the settings (docs/events.md).")
    return Check("events", "ok", f"a command for {', '.join(commands)}")


def strategy_items(settings: Settings, paths: StatePaths) -> Iterator[Check]:
    """The strategy, made as a run makes it, its own checks, and the servers. Nothing is started."""
    from navigator.swap import look_at_servers, make_strategy, strategy_names

    if settings.swap.strategy is None:
        hint = (
            "`navigator setup` finds your servers and writes the settings. Or set strategy under [swap] to one of "
            f"{', '.join(strategy_names())} (docs/strategies.md); `navigator demo` needs none."
        )
        yield Check("swap strategy", "missing", "none is set", hint)
        return
    try:
        strategy = make_strategy(settings, paths)
    except NavigatorError as error:
        yield Check("swap strategy", "missing", f"{settings.swap.strategy}: {error.message}", error.hint)
        return
    yield Check("swap strategy", "ok", f"{strategy.name}: {strategy.about}")
    own = asyncio.run(strategy.diagnose())
    yield from own
    if strategy.embedded or any(item.name == "ssh" and item.state == "missing" for item in own):
        return  # the servers are behind the connection: once is enough
    for look in look_at_servers(settings, paths):
        yield _server(look, swapped=strategy.restarts_servers and look.role is not Role.FINAL)
        if look.state == "ready":
            yield from _context(settings.server(look.role), look.role)


def _context(server: ServerSettings, role: Role) -> Iterator[Check]:
    """Whether the server loaded the model with a shorter context than the settings say: Ollama cuts longer prompts silently."""
    from navigator.setup.servers import look

    held = asyncio.run(look(server.base_url, model=server.model)).context
    if held is not None and held < server.context_tokens:
        found = f"loaded with a context of {held:,} tokens; the settings say {server.context_tokens:,}"
        hint = "Start the server with a longer one (Ollama: OLLAMA_CONTEXT_LENGTH), or lower context_tokens."
        yield Check(f"{role.value} context", "warn", found, hint)


def _server(look: ServerLook, *, swapped: bool) -> Check:
    """One role's server. `swapped`: a swap starts it."""
    name = look.role.value
    if look.state == "ready":
        return Check(name, "ok", f"{look.address} serves {look.served or 'a model it does not name'}")
    if look.state in ("asleep", "not loaded"):
        now = f"{look.address}: {look.state}; a swap loads it"
        if look.served:
            now = f"{look.address} serves {look.served} now; a swap changes it"
        elif look.down:
            now = f"not running at {look.address}; a swap starts it"
        return Check(name, "ok", now)
    if swapped and look.state == "silent":
        return Check(name, "warn", f"not running at {look.address}; a swap starts it")
    if look.state in ("loading", "paused", "unsure"):
        return Check(name, "warn", look.problem or f"{look.address}: {look.state}", look.remedy)
    return Check(name, "missing", look.problem or f"{look.address}: {look.state}", look.remedy)
