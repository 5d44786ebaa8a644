"""The post-commit hook that notes each commit for Navigator, beside a hook that is there already.

The hook makes one empty file, named by the commit, in a folder of the state: no lock, no process of Navigator's, and what fails
there fails silently. A commit waits for a shell's start alone. An earlier hook is moved aside, runs first, and comes
back as it was when this one is removed.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from navigator.config.paths import write_whole
from navigator.domain import patterns
from navigator.domain.errors import NavigatorError
from navigator.workspace.git.facts import RepoFacts, own_settings

NAME = "post-commit"
KEPT = "before-navigator"
"""The folder beside the hook that an earlier hook is kept in, under its own name: some programs ask by what name they run."""

_MARK = b"# Made by `navigator hook install`."
_COMMIT = patterns.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

# A commit waits for this shell and a file or two of git's: HEAD has to be read before the next commit moves it. Where
# it is not in a file as usual, git is asked. Only the process in the background touches the state folder, however slow that
# is. While a rebase runs, its commits are copies of commits that were noted when they were made.
_HOOK = """#!/bin/sh
# Made by `navigator hook install`. It notes each commit, so that Navigator reviews it; `navigator hook remove` removes it.
# A hook that was here before is in {kept}/ and runs first.
status=0
if [ -x "${{0%/*}}/{kept}/{name}" ]; then
    "${{0%/*}}/{kept}/{name}" "$@" || status=$?
fi
(
    folder={folder}
    set -f
    git=${{GIT_DIR:-.git}} commit=
    [ -d "$git" ] || git=$(git rev-parse --git-dir) || exit
    [ ! -d "$git/rebase-merge" ] && [ ! -d "$git/rebase-apply" ] || exit
    IFS= read -r head < "$git/HEAD"
    case $head in
        ref:*)
            common=$git
            [ ! -f "$git/commondir" ] || {{ IFS= read -r common < "$git/commondir"; common=$git/$common; }}
            [ ! -f "$common/${{head#ref: }}" ] || IFS= read -r commit < "$common/${{head#ref: }}" ;;
        *) commit=$head ;;
    esac
    case $commit in *[!0-9a-f]* | "") commit=$(git rev-parse HEAD) || exit ;; esac
    {{ [ -d "$folder" ] && : > "$folder/$commit"; }} &
) < /dev/null > /dev/null 2>&1
exit $status
"""


class HookRefused(NavigatorError):
    """The hook cannot be put in place, or is not there; the message says why."""

    code: ClassVar[str] = "hook_refused"


@dataclass(frozen=True, slots=True)
class HookState:
    """The hook's place, whether Navigator's hook is there, and whether an earlier one is kept."""

    path: Path
    installed: bool
    kept: bool


def hook_state(facts: RepoFacts) -> HookState:
    """Where the hook of a repository is, and whose it is.

    Raises:
        HookRefused: the repository's hooks are elsewhere (`core.hooksPath`).
    """
    elsewhere = own_settings(facts.git(user_config=True), "core.hooksPath", repository=True)
    if elsewhere:
        raise HookRefused(
            f"The hooks of {facts.path} are in {elsewhere[-1]} (core.hooksPath), which other repositories or the checkout share.",
            hint="Have the branches reviewed instead: `navigator project set NAME --review-branch PATTERN`.",
        )
    path = facts.common_dir / "hooks" / NAME
    try:
        installed = not path.is_symlink() and _MARK in path.read_bytes()
    except FileNotFoundError:
        installed = False
    return HookState(path, installed, os.path.lexists(path.parent / KEPT / NAME))


def install_hook(facts: RepoFacts, folder: Path) -> HookState:
    """Put the hook in place; once more where it is already, which renews its text.

    Args:
        folder: where commits are noted; made if absent.

    Raises:
        HookRefused: see `hook_state`; or two hooks are there already.
    """
    state = hook_state(facts)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state.path.parent.mkdir(exist_ok=True)
    if not state.installed and os.path.lexists(state.path):
        if state.kept:
            raise HookRefused(
                f"{state.path} is not Navigator's, and {state.path.parent / KEPT / NAME} is kept from an earlier install.",
                hint="Delete or merge one of the two, then try again.",
            )
        (state.path.parent / KEPT).mkdir(exist_ok=True)
        _move(state.path, state.path.parent / KEPT / NAME)
    text = _HOOK.format(kept=KEPT, name=NAME, folder=shlex.quote(str(folder)))
    write_whole(state.path, text.encode("utf-8", "surrogateescape"), 0o755)
    return hook_state(facts)


def remove_hook(facts: RepoFacts) -> HookState:
    """Take the hook away, and put back the one that was there before.

    Raises:
        HookRefused: there is none of Navigator's.
    """
    state = hook_state(facts)
    if not state.installed:
        raise HookRefused(
            f"{facts.path} has no hook of Navigator's.",
            hint=f"The hook that was there before is {state.path.parent / KEPT / NAME}."
            if state.kept
            else "",
        )
    if state.kept:
        _move(state.path.parent / KEPT / NAME, state.path)
        (state.path.parent / KEPT).rmdir()
    else:
        state.path.unlink()
    return hook_state(facts)


def noted_commits(folder: Path) -> list[str]:
    """The commits that hooks noted, those noted first in front."""
    try:
        found = [entry for entry in os.scandir(folder) if _COMMIT.fullmatch(entry.name)]
        return [entry.name for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns)]
    except FileNotFoundError:
        return []


def _move(source: Path, target: Path) -> None:
    """Rename a file; a link that names its target by a relative path still leads there."""
    if not source.is_symlink() or source.readlink().is_absolute():
        source.replace(target)
        return
    there = os.path.relpath(os.path.normpath(source.parent / source.readlink()), target.parent)
    target.unlink(missing_ok=True)
    target.symlink_to(there)
    source.unlink()
