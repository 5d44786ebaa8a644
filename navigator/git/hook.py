"""The post-commit hook that notes each commit for Navigator, beside a hook that is there already.

The hook makes one empty file, named by the commit, in a folder of the state: no lock, no process of Navigator's, and what fails
there fails silently. A commit waits for a shell's start alone. An earlier hook is moved aside, runs first, and comes
back as it was when this one is removed.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from navigator.config.guarded import NotPlain, holding, kind_of, read_file, write_file
from navigator.git.facts import HOOK_MARK, KEPT_HOOKS, LARGEST_HOOK, RepoFacts, own_settings
from navigator.model import patterns
from navigator.model.errors import NavigatorError

NAME = "post-commit"
_KEPT = f"{KEPT_HOOKS}/{NAME}"
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
        HookRefused: the repository's hooks are elsewhere (`core.hooksPath`), or something else is at their place.
    """
    elsewhere = own_settings(facts.git(user_config=True), "core.hooksPath", repository=True)
    if elsewhere:
        raise HookRefused(
            f"The hooks of {facts.path} are in {elsewhere[-1]} (core.hooksPath), which other repositories or the checkout share.",
            hint="Have the branches reviewed instead: `navigator project set NAME --review-branch PATTERN`.",
        )
    folder = facts.common_dir / "hooks"
    state = HookState(folder / NAME, installed=False, kept=False)
    for place, may_be in (
        (folder, ("", "a folder")),
        (folder / NAME, ("", "a file", "a link")),
        (folder / KEPT_HOOKS, ("", "a folder")),
        (folder / _KEPT, ("", "a file", "a link")),
    ):
        kind = _kind(facts, place)
        if kind not in may_be:
            raise HookRefused(
                f"{place} is {kind}; nothing was changed.", hint="Move it away, then try again."
            )
        if kind == "" and place == folder:
            return state
    with contextlib.suppress(NotPlain, FileNotFoundError):  # a link, or a large file: another program's
        state = replace(state, installed=HOOK_MARK in read_file(folder, NAME, LARGEST_HOOK))
    return replace(state, kept=kind != "")


def _kind(facts: RepoFacts, place: Path) -> str:
    return kind_of(facts.common_dir, place.relative_to(facts.common_dir).as_posix())


def install_hook(facts: RepoFacts, folder: Path) -> HookState:
    """Put the hook in place; once more where it is already, which renews its text.

    Args:
        folder: where commits are noted; made if absent.

    Raises:
        HookRefused: see `hook_state`; or two hooks are there already, or the folder cannot be written.
    """
    state = hook_state(facts)
    text = _HOOK.format(kept=KEPT_HOOKS, name=NAME, folder=shlex.quote(str(folder)))
    try:
        if not state.installed and _kind(facts, state.path):
            if state.kept:
                raise HookRefused(
                    f"{state.path} is not Navigator's, and {state.path.parent / _KEPT} is kept from an earlier install.",
                    hint="Delete or merge one of the two, then try again.",
                )
            _move(state.path.parent, NAME, _KEPT)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = text.encode("utf-8", "surrogateescape")
        write_file(facts.common_dir, f"hooks/{NAME}", data, 0o755, sync=True)
    except OSError as error:
        raise _refused(state, error) from error
    return hook_state(facts)


def remove_hook(facts: RepoFacts) -> HookState:
    """Take the hook away, and put back the one that was there before.

    Raises:
        HookRefused: there is none of Navigator's, see `hook_state`, or the folder cannot be written.
    """
    state = hook_state(facts)
    if not state.installed:
        raise HookRefused(
            f"{facts.path} has no hook of Navigator's.",
            hint=f"The hook that was there before is {state.path.parent / _KEPT}." if state.kept else "",
        )
    try:
        with holding(facts.common_dir, f"hooks/{NAME}") as (hooks, name):
            if state.kept:
                _move(hooks, _KEPT, name)
                with contextlib.suppress(OSError):  # somebody keeps something else there
                    os.rmdir(KEPT_HOOKS, dir_fd=hooks)
            else:
                os.unlink(name, dir_fd=hooks)
    except OSError as error:
        raise _refused(state, error) from error
    return hook_state(facts)


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


def _move(hooks: Path | int, source: str, target: str) -> None:
    """Rename a file below the hooks; a link that names its target by a relative path still leads there."""
    with holding(hooks, source) as (old, was), holding(hooks, target, make=True) as (new, now):
        if kind_of(old, was) != "a link" or (to := os.readlink(was, dir_fd=old)).startswith("/"):
            os.rename(was, now, src_dir_fd=old, dst_dir_fd=new)
            return
        there = os.path.normpath(os.path.join(os.path.dirname(source), to))  # noqa: PTH118,PTH120
        with contextlib.suppress(FileNotFoundError):
            os.unlink(now, dir_fd=new)
        os.symlink(os.path.relpath(there, os.path.dirname(target) or "."), now, dir_fd=new)  # noqa: PTH120
        os.unlink(was, dir_fd=old)
