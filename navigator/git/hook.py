"""The post-commit hook that notes each commit for Navigator.

The hook makes one empty file, named by the commit, in a folder of the state: no lock, no process of Navigator's, and what fails
there fails silently. A commit waits for a shell's start alone. Another program's hook is left as it is, and nothing installed.
"""

from __future__ import annotations

import contextlib
import os
import pkgutil
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from navigator.git.facts import HOOK_MARK, LARGEST_HOOK, RepoFacts, own_settings
from navigator.model import patterns
from navigator.model.errors import NavigatorError
from navigator.process.guarded import NotPlain, holding, kind_of, read_file, write_file

NAME = "post-commit"
_COMMIT = patterns.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_INSTEAD = "Have the branches reviewed instead: `navigator project set NAME --review-branch PATTERN`."


class HookRefused(NavigatorError):
    """The hook cannot be put in place, or is not there; the message says why."""

    code: ClassVar[str] = "hook_refused"


@dataclass(frozen=True, slots=True)
class HookState:
    """The hook's place, what is there ("" for nothing), and whether it is Navigator's hook."""

    path: Path
    kind: str = ""
    installed: bool = False


def hook_state(facts: RepoFacts) -> HookState:
    """Where the hook of a repository is, and whose it is.

    Raises:
        HookRefused: the repository's hooks are elsewhere (`core.hooksPath`), or something else is at their place.
    """
    elsewhere = own_settings(facts.git(user_config=True), "core.hooksPath", repository=True)
    if elsewhere:
        raise HookRefused(
            f"The hooks of {facts.path} are in {elsewhere[-1]} (core.hooksPath), which other repositories or the checkout share.",
            hint=_INSTEAD,
        )
    folder = facts.common_dir / "hooks"
    state = HookState(folder / NAME)
    for place, may_be in ((folder, ("", "a folder")), (folder / NAME, ("", "a file", "a link"))):
        kind = kind_of(facts.common_dir, place.relative_to(facts.common_dir).as_posix())
        if kind not in may_be:
            raise HookRefused(
                f"{place} is {kind}; nothing was changed.", hint="Move it away, then try again."
            )
        if kind == "":
            return state
    with contextlib.suppress(NotPlain, FileNotFoundError):  # a link, or a large file: another program's
        return replace(state, kind=kind, installed=HOOK_MARK in read_file(folder, NAME, LARGEST_HOOK))
    return replace(state, kind=kind)


def install_hook(facts: RepoFacts, folder: Path) -> HookState:
    """Put the hook in place; once more where it is already, which renews its text.

    Args:
        folder: where commits are noted; made if absent.

    Raises:
        HookRefused: see `hook_state`; or another hook is there already, or the folder cannot be written.
    """
    state = hook_state(facts)
    if state.kind and not state.installed:
        raise HookRefused(f"{state.path} is another program's hook; nothing was changed.", hint=_INSTEAD)
    text = (pkgutil.get_data(__package__, "post-commit.sh") or b"").decode("ascii")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = text.replace("@FOLDER@", shlex.quote(str(folder))).encode("utf-8", "surrogateescape")
        write_file(facts.common_dir, f"hooks/{NAME}", data, 0o755, sync=True)
    except OSError as error:
        raise _refused(state, error) from error
    return hook_state(facts)


def remove_hook(facts: RepoFacts) -> HookState:
    """Take the hook away.

    Raises:
        HookRefused: there is none of Navigator's, see `hook_state`, or the folder cannot be written.
    """
    state = hook_state(facts)
    if not state.installed:
        raise HookRefused(f"{facts.path} has no hook of Navigator's.")
    try:
        with holding(facts.common_dir, f"hooks/{NAME}") as (hooks, name):
            os.unlink(name, dir_fd=hooks)
    except OSError as error:
        raise _refused(state, error) from error
    return state


def _refused(state: HookState, error: OSError) -> HookRefused:
    return HookRefused(
        f"{state.path} cannot be changed: {error.strerror}.", hint="May you write in that folder?"
    )


def noted_commits(folder: Path) -> list[str]:
    """The commits that hooks noted, those noted first in front."""
    try:
        found = [entry for entry in os.scandir(folder) if _COMMIT.fullmatch(entry.name)]
        return [entry.name for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns)]
    except FileNotFoundError:
        return []
