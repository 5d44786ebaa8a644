"""What a checkout holds that HEAD does not, read without running anything that the repository names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from navigator.git.facts import RepoFacts, own_settings
from navigator.git.runner import Git, GitError


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """What the checkout and the index hold that HEAD does not, by how git sees it.

    Attributes:
        tracked: paths of the index or of HEAD whose content, mode or presence differs.
        untracked: paths that git neither tracks nor ignores; one that ends in `/` is a folder.
        dropped: taken out of the index; the file may still be there.
        conflicts: paths that a merge left undecided.
        submodules: those of `tracked` that are submodules.
    """

    tracked: tuple[str, ...]
    untracked: tuple[str, ...]
    dropped: tuple[str, ...]
    conflicts: tuple[str, ...]
    submodules: frozenset[str]


def uncommitted(facts: RepoFacts, *, untracked: Literal["normal", "all"] = "normal") -> Uncommitted:
    """Read what is not committed. Runs nothing of the repository, and does not refresh the index on disk.

    `git status` compares content through clean filters and looks into submodules, both of which run programs
    that the repository names. So every filter that its configuration defines is blanked for the call, and
    submodules are left alone; a filtered file (LFS) whose timestamp changed is therefore listed though it may
    be unchanged.
    """
    if facts.work_tree is None:
        return Uncommitted((), (), (), (), frozenset())
    git = facts.git(work_tree=True)
    ignores = own_settings(facts.git(user_config=True), "core.excludesFile")
    status = git.run(
        "status",
        "--porcelain=v2",
        "-z",
        f"--untracked-files={untracked}",
        "--ignore-submodules=all",
        "--no-renames",
        "--no-ahead-behind",
        config=(*blank_filters(git), *(f"core.excludesFile={path}" for path in ignores[-1:])),
    )
    rows: dict[str, list[str]] = {"1": [], "?": [], "dropped": [], "u": [], "submodule": []}
    for record in status.stdout.split(b"\0"):
        kind = os.fsdecode(record[:1])
        # Counted fields come before the path in each kind of record: git-status(1), porcelain format 2.
        before = {"1": 8, "u": 10, "?": 1}.get(kind)
        if before is None:
            continue
        *fields, path = record.split(b" ", before)
        name = os.fsdecode(path)
        if kind == "1" and fields[4] == b"000000":
            kind = "dropped"
        elif kind == "1" and b"160000" in fields[3:6]:
            rows["submodule"].append(name)
        rows[kind].append(name)
    return Uncommitted(
        tuple(rows["1"]),
        tuple(rows["?"]),
        tuple(rows["dropped"]),
        tuple(rows["u"]),
        frozenset(rows["submodule"]),
    )


def uncommitted_paths(facts: RepoFacts, *, limit: int = 1000) -> tuple[str, ...]:
    """Paths whose content in the checkout or the index is not that of HEAD, untracked files included, at most
    `limit`; see `uncommitted`."""
    found = uncommitted(facts)
    paths = dict.fromkeys((*found.tracked, *found.dropped, *found.conflicts, *found.untracked))
    return tuple(paths)[:limit]


def blank_filters(git: Git) -> tuple[str, ...]:
    """Settings that switch off every filter the repository's configuration defines."""
    found = git.run("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.[a-z]+$", check=False)
    names = {key.split(".", 1)[1].rsplit(".", 1)[0] for key in os.fsdecode(found.stdout).split("\0") if key}
    settings: list[str] = []
    for name in sorted(names):
        if "=" in name or "\n" in name:
            # `-c` splits at the first "=", so such a name cannot be overridden: fail closed.
            raise GitError(
                "A filter in the repository's configuration has a name that cannot be switched off.",
                hint="Rename it in .git/config.",
            )
        settings += [f"filter.{name}.{key}=" for key in ("clean", "smudge", "process")]
        settings.append(f"filter.{name}.required=false")
    return tuple(settings)
