"""`navigator doctor`: what is here, what is missing, how to get it; where the log is."""

from __future__ import annotations

import asyncio
import errno
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict

import click

from navigator import __version__
from navigator.cli import output
from navigator.cli.doctor.item import Item
from navigator.cli.session import state_paths
from navigator.config.paths import STATE_VARIABLE, StatePaths, config_path
from navigator.config.settings import Settings, load_settings
from navigator.domain.errors import NavigatorError
from navigator.domain.states import Role
from navigator.store.space import is_low

_WAL_FIXED = (3, 51, 3)
_PROBE_SECONDS = 5.0
_SPARE_MB = 1024


@click.command()
@click.option("--disk", is_flag=True, help="Also measure how fast the models' files can be read (512 MB).")
@click.option("--json", "as_json", is_flag=True)
def doctor(disk: bool, as_json: bool) -> None:
    """What is here, what is missing, how to get it."""
    paths = state_paths()
    items = list(_look(paths, disk=disk))
    missing = any(item.state == "missing" for item in items)
    if as_json:
        output.print_json(
            {"items": [asdict(item) for item in items], "log": str(paths.log), "ok": not missing}
        )
    else:
        marks = {"ok": "✓", "warn": "!", "missing": "✗"}
        for item in items:
            output.say(f"{marks[item.state]} {item.state:<8} {item.name:<16} {item.found}")
            if item.hint:
                output.say(f"           {'':<16} {item.hint}")
        output.say(f"\nThe log: {paths.log}")
    if missing:
        sys.exit(3)


def _look(paths: StatePaths, *, disk: bool) -> Iterator[Item]:
    from navigator.cli.doctor.serving import card_items, serving_items

    yield Item("navigator", "ok", f"{__version__}, Python {platform.python_version()}, {sys.executable}")
    yield _git()
    yield _identity(paths)
    yield _sqlite()
    yield _state(paths)
    yield _database(paths)
    yield _bubblewrap()
    yield _tool("nvidia-smi", "reads the GPU's memory", "Comes with NVIDIA's driver.")
    yield from card_items()
    yield _tool(
        "systemctl", "starts and stops the model servers", "The strategies resident and rehearsal do without."
    )
    try:
        settings = load_settings()
    except NavigatorError as error:
        yield Item("settings", "missing", error.message, error.hint)
        return
    yield Item("settings", "ok", str(settings.source or f"none at {config_path()}: all defaults"))
    if settings.checks.unsandboxed:
        yield Item(
            "tests",
            "warn",
            "projects' tests run UNSANDBOXED: what a model wrote runs as you",
            "Take `[checks] unsandboxed` out of the settings.",
        )
    yield _prompts()
    yield from _servers(settings, paths)
    yield from serving_items(settings, disk=disk)


def _git() -> Item:
    from navigator.workspace.git.runner import find_git

    try:
        return Item("git", "ok", str(find_git()))
    except NavigatorError as error:
        return Item("git", "missing", error.message, error.hint)


def _identity(paths: StatePaths) -> Item:
    """Whether git knows who makes the commits of a landing; a repository's own settings may still say it."""
    from navigator.workspace.git.runner import Git

    git = Git(paths.root, user_config=True)
    values = [git.run("config", "--get", f"user.{key}", check=False).text for key in ("name", "email")]
    if all(values):
        return Item("git identity", "ok", f"{values[0]} <{values[1]}>")
    hint = (
        'git config --global user.name "…" and user.email "…": without them approved proposals cannot land.'
    )
    return Item("git identity", "warn", "git knows no user.name or no user.email", hint)


def _database(paths: StatePaths) -> Item:
    """Whether the database can be opened and is whole."""
    from navigator.store.database import open_reader, quick_check

    if not paths.database.exists():
        return Item("database", "ok", "none yet: the first command makes it")
    try:
        connection = open_reader(paths.database)
        try:
            said = quick_check(connection)
        finally:
            connection.close()
    except NavigatorError as error:
        return Item("database", "missing", error.message, error.hint)
    except sqlite3.Error as error:
        return Item("database", "missing", f"{paths.database}: {error}", f"Copies are in {paths.backups}.")
    if said != "ok":
        return Item(
            "database", "missing", f"{paths.database} is damaged: {said}", f"Copies are in {paths.backups}."
        )
    return Item("database", "ok", str(paths.database))


def _sqlite() -> Item:
    version = ".".join(map(str, sqlite3.sqlite_version_info))
    if sqlite3.sqlite_version_info >= _WAL_FIXED:
        return Item("sqlite", "ok", version)
    # Navigator keeps to one writer that also checkpoints, which is what avoids the WAL-reset bug of older versions.
    return Item("sqlite", "ok", f"{version} (one writer only, as versions before 3.51.3 need it)")


def _state(paths: StatePaths) -> Item:
    free = shutil.disk_usage(paths.root).free // (1024 * 1024)
    mode = oct(paths.root.stat().st_mode & 0o777)
    try:
        with tempfile.TemporaryFile(dir=paths.root):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            words = f"{paths.root} ({mode}) cannot be written: {error.strerror}"
            hint = f"Make it writable, or point {STATE_VARIABLE} elsewhere: without it nothing can be done, only looked at."
            return Item("state folder", "missing", words, hint)
    if is_low(paths.root):
        return Item(
            "state folder",
            "missing",
            f"{paths.root} ({mode}), {free} MB free: the disk is full",
            "Nothing new begins until there is room; what is stored can be read.",
        )
    if free < _SPARE_MB:
        return Item(
            "state folder", "warn", f"{paths.root} ({mode}), {free} MB free", "Free some space there."
        )
    return Item("state folder", "ok", f"{paths.root} ({mode}), {free // 1024} GB free")


def _bubblewrap() -> Item:
    """Tried with every flag that a run uses: `bwrap true` succeeds where a network namespace is refused."""
    from navigator.workspace.sandbox.probe import probe

    found = probe()
    if not found.works:
        return Item("bubblewrap", "warn", f"{found.reason}: proposals are untested", found.hint)
    return Item("bubblewrap", "ok", found.bwrap + (", control groups by systemd" if found.scope else ""))


def _tool(name: str, purpose: str, hint: str) -> Item:
    found = shutil.which(name)
    return Item(name, "ok", found) if found else Item(name, "warn", f"not here ({purpose})", hint)


def _prompts() -> Item:
    """Whether the user's own prompt templates can be used; those that stand in for none are named."""
    from navigator.cascade.prompts.library import PromptLibrary
    from navigator.config.resources import resource_dir

    try:
        library = PromptLibrary([resource_dir("prompts"), config_path().parent / "prompts"])
        library.check()
    except NavigatorError as error:
        return Item("prompts", "missing", error.message, error.hint)
    idle = [prompt.name for prompt in library.own if library.replaces(prompt) != prompt.name]
    if idle:
        hint = "They replace no packaged prompt: `navigator prompts list` shows the names; `prompts try` can use them."
        return Item("prompts", "warn", f"not in use: {', '.join(idle)}", hint)
    mine = ", ".join(prompt.version for prompt in library.own)
    return Item("prompts", "ok", f"yours: {mine}" if mine else "the packaged ones")


def _servers(settings: Settings, paths: StatePaths) -> Iterator[Item]:
    from navigator.cli.doctor.strategy import strategy_items
    from navigator.serving.swap import AVAILABLE

    yield from strategy_items(settings, paths)
    if settings.swap.strategy not in AVAILABLE or settings.swap.strategy == "rehearsal":
        return
    roles = [Role.GENERATOR, Role.REVIEWER, *([Role.FINAL] if settings.final.enabled else [])]
    for role in roles:
        yield asyncio.run(_server(settings, role))


async def _server(settings: Settings, role: Role) -> Item:
    from navigator.serving.client.client import ModelClient

    server = settings.server(role)
    if server.api_key_env and server.api_key_env not in os.environ:
        return Item(
            role.value, "missing", f"{server.api_key_env} is not set", "It names the variable with the key."
        )
    async with ModelClient(server) as client:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                healthy = await client.health()
                models = await client.models()
        except NavigatorError as error:
            return Item(role.value, "warn", error.message, error.hint)
        except TimeoutError:
            words = f"{server.base_url} did not answer within {_PROBE_SECONDS:g} seconds"
            return Item(role.value, "warn", words, "Start the server, or look at its log.")
    if not healthy:
        return Item(role.value, "warn", f"{server.base_url} is not ready", "It may still load; look again.")
    return Item(
        role.value, "ok", f"{server.base_url} serves {', '.join(models) or 'a model it does not name'}"
    )
