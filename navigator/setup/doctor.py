"""What Navigator needs: what is there, what is missing, how to get it. Nothing is started but the agent, which is ended again."""

from __future__ import annotations

import asyncio
import errno
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from navigator import __version__
from navigator.config.paths import STATE_VARIABLE, StatePaths, config_path
from navigator.config.settings import Settings, load_settings
from navigator.git.runner import Git, find_git
from navigator.model.errors import NavigatorError
from navigator.model.models import Baseline, Project
from navigator.model.secrets import MOST_VALUES
from navigator.model.states import CheckOutcome, Role
from navigator.model.text import duration, safe_line
from navigator.sandbox.propose import untested
from navigator.setup.doctor_servers import answer_item, card_items, context_items, server_items
from navigator.store.database import is_low, open_reader, quick_check, translated
from navigator.swap import look_at_servers, make_strategy, strategy_names
from navigator.swap.base import Check

_REACHES = {"swap strategy", "ssh"}
"""Checks without which nothing more can be asked of another machine."""


def _checked(name: str, check: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """What a check finds; what it raises is missing."""
    try:
        yield from check()
    except NavigatorError as error:
        yield Check(name, "missing", error.message, error.hint)


def look_at_everything(paths: StatePaths) -> Iterator[Check]:
    """Everything, from this machine to the servers. What follows from settings that cannot be read is left out."""
    yield Check("navigator", "ok", f"{__version__}, Python {platform.python_version()}, {sys.executable}")
    yield from _checked("git", _git)
    yield from _checked("git identity", lambda: _identity(paths))
    yield _check_folder(paths)
    yield from _checked("database", lambda: _database(paths))
    try:
        settings = load_settings()
    except NavigatorError as error:
        yield Check("settings", "missing", error.message, error.hint)
        return
    yield Check("settings", "ok", str(settings.source or f"no file at {config_path()}: all defaults"))
    yield from _sandbox(unsandboxed=settings.checks.unsandboxed)
    yield from _checked("prompts", _prompts)
    yield from card_items()
    found = list(strategy_items(settings, paths))
    yield from found
    lost = {item.name for item in found if item.state == "missing"}
    yield from server_items(settings, reached=not _REACHES & lost)
    if settings.generator.agent.command:
        yield _agent(settings)


def _git() -> Iterator[Check]:
    yield Check("git", "ok", str(find_git()))


def _identity(paths: StatePaths) -> Iterator[Check]:
    """Whether git knows the author of landed commits, from the user's own settings."""
    from navigator.landing.plan import read_people, unknown_person

    if people := read_people(Git(paths.root, user_config=True)):
        yield Check("git identity", "ok", f"{people[0].name} <{people[0].email}>")
    else:
        yield Check(
            "git identity", "warn", unknown_person(""), "A repository's own settings may say so instead."
        )


def _check_folder(paths: StatePaths) -> Check:
    free = shutil.disk_usage(paths.root).free // (1024 * 1024)
    about = f"{paths.root} ({oct(paths.root.stat().st_mode & 0o777)})"
    try:
        with tempfile.TemporaryFile(dir=paths.root):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            hint = f"Make it writable, or set {STATE_VARIABLE} to another folder. Until then nothing can be changed."
            return Check("state folder", "missing", f"{about} cannot be written: {error.strerror}", hint)
    if is_low(paths.root):
        hint = "Free some space there: no new work starts before that."
        return Check("state folder", "missing", f"{about}, {free} MB free: the disk is full", hint)
    return Check("state folder", "ok", f"{about}, {free // 1024} GB free")


def _database(paths: StatePaths) -> Iterator[Check]:
    """Whether the database can be opened and is intact."""
    if not paths.database.exists():
        yield Check("database", "ok", "none yet; the first command creates it")
        return
    try:
        with closing(open_reader(paths.database)) as connection:
            said = quick_check(connection)
    except sqlite3.Error as error:
        raise translated(error, paths.database) from error
    if said != "ok":
        found = f"{paths.database} is damaged: {said}"
        yield Check("database", "missing", found, f"Backups are in {paths.backups}.")
        return
    yield Check("database", "ok", str(paths.database))


def _sandbox(*, unsandboxed: bool) -> Iterator[Check]:
    """Tried with every flag that a run uses: `bwrap true` succeeds where a network namespace is refused."""
    from navigator.sandbox.probe import probe

    found = probe()
    if found.works:
        scope = ", control groups by systemd" if found.scope else ""
        yield Check("bubblewrap", "ok", found.bwrap + scope)
    else:
        state: Literal["warn", "missing"] = "warn" if unsandboxed else "missing"
        yield Check("bubblewrap", state, f"{found.reason}: proposals are not tested", found.hint)
    if unsandboxed:
        words = "projects' tests run UNSANDBOXED: code that a model wrote runs as you"
        yield Check("tests", "warn", words, "Remove unsandboxed from [checks] in the settings.")


def _prompts() -> Iterator[Check]:
    """Whether the user's own prompt templates can be used."""
    from navigator.journey.prompts.library import PromptLibrary

    library = PromptLibrary()
    library.check()
    mine = ", ".join(prompt.version for prompt in library.own)
    yield Check("prompts", "ok", f"yours: {mine}" if mine else "the packaged ones")


def _agent(settings: Settings) -> Check:
    """The coding agent that writes: started in the sandbox and ended again."""
    try:
        return Check("agent", "ok", f"{asyncio.run(try_agent(settings))} starts")
    except NavigatorError as error:
        return Check("agent", "missing", error.message, error.hint)


async def try_agent(settings: Settings) -> str:
    """Start the agent once and end it again; returns its name and version. The model is asked nothing.

    Raises:
        AgentUnavailable: it cannot be started, or wants what nobody can give.
    """
    from navigator.agents.forwarder import CallJournal, Forwarder
    from navigator.agents.profiles import Endpoint
    from navigator.agents.session import AgentPlace, opened
    from navigator.client.client import ModelClient
    from navigator.sandbox.folders import remove
    from navigator.sandbox.probe import probe
    from navigator.sandbox.spec import furnish

    server = settings.generator
    scratch = Path(tempfile.mkdtemp(prefix="navigator-agent-"))
    project = Project(id=0, name="doctor", path=str(scratch / "tree"))
    place = AgentPlace(project, furnish(project, ()), scratch)
    place.tree.mkdir()
    endpoint = Endpoint(server.model, server.context_tokens, server.max_tokens)
    try:
        async with ModelClient(server) as client:
            forwarder = Forwarder(client, CallJournal(), most=0)
            async with opened(server.agent, endpoint, place, probe(), forwarder) as session:
                return session.who
    finally:
        remove(scratch)


def strategy_items(settings: Settings, paths: StatePaths) -> Iterator[Check]:
    """The strategy, made as a run makes it, its own checks, and the servers. Nothing is started."""
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
        yield answer_item(look, swapped=strategy.restarts_servers and look.role is not Role.FINAL)
        if look.state == "ready":
            yield from context_items(settings, look.role)


# Of one project


_SHOWN = 30


def check_lines(found: Mapping[str, Any], baseline: Baseline | None) -> Iterator[str]:
    """What `project check` found, a line each: what the tests ran in, and what they said; `baseline` is None without any."""
    yield f"{found['project']}  base {found['base'][:12]}"
    if baseline is None:
        yield f"– untested. {untested(found['project'], found['proposed'])}"
        return
    yield from (f"  {safe_line(line)}" for line in _surroundings(found))
    mark = {CheckOutcome.PASSED: "✓", CheckOutcome.FAILED: "✗"}.get(baseline.outcome, "–")
    line, _, rest = baseline.detail.partition("\n")
    yield f"{mark} {baseline.outcome.value}: {safe_line(line)}  ({duration(baseline.seconds)})"
    yield from (f"    {safe_line(name)}" for name in baseline.failures[:_SHOWN])
    if len(baseline.failures) > _SHOWN:
        yield f"    and {len(baseline.failures) - _SHOWN} more"
    if baseline.outcome is CheckOutcome.FAILED:
        yield "  They fail without any proposal: a proposal is blamed only for further failures."
    if rest.strip() and baseline.outcome is not CheckOutcome.PASSED:
        yield rest.strip()


def _surroundings(found: Mapping[str, Any]) -> list[str]:
    """What the tests ran in; a line for each thing, and for what is wrong with it."""
    sandbox, lines = found["sandbox"], [f"command: {found['command']}"]
    if sandbox["unsandboxed"]:
        lines.append(
            "! runs UNSANDBOXED because of `[checks] unsandboxed`: code that a model wrote runs as you."
        )
    elif sandbox["works"]:
        group = ", in its own control group" if sandbox["control_group"] else ""
        lines.append(f"sandbox: bubblewrap, no network, no home{group}")
    else:
        lines += [f"✗ no sandbox: {sandbox['reason']}", f"→ {sandbox['hint']}"]
    for title in ("dependencies", "mounts", "toolchains"):
        if paths := found[title]:
            lines.append(f"{title}, read-only inside: {', '.join(paths)}")
    lines += [
        f"! check_mounts lists {mount}, which does not exist or is a link of the repository."
        for mount in found["mounts_absent"]
    ]
    if found["unredacted"]:
        lines.append(
            f"! Files with secrets hold more than {MOST_VALUES:,} values: the rest is not redacted in what tests print."
        )
    return lines
