"""A landing as plain data, decided before anything is done, and the reasons why one does not happen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

from navigator.git.diffs import RawChange
from navigator.git.facts import RepoFacts
from navigator.git.private import PrivateRepo
from navigator.git.private_layout import clear
from navigator.git.runner import Git, GitError, GitTimeout, Person, person_environment, signing_environment
from navigator.model import patterns
from navigator.model.errors import NavigatorError
from navigator.model.text import safe_line, safe_text

# Making the commit of a landing: who the user is to git, and whether they sign. Its message comes from `journey/land.py`.
#
# The commit is made in the private repository, so that nothing of the user's is written before the plan is
# journaled.

SIGNING_TIMEOUT = 120.0
"""Seconds in which the user may answer a passphrase dialog."""

_IDENT = patterns.compile(r"(?P<name>.*) <(?P<email>.*)> \d+ [+-]\d{4}")
_TRUE = frozenset({"true", "yes", "on", "1"})
# Programs are only taken from configuration that no repository brings along.
_OWN_SCOPES = frozenset({"system", "global"})


@dataclass(frozen=True, slots=True)
class Identity:
    """Who makes a commit, and how it is signed: `settings` are `key=value` for the signing program."""

    author: Person
    committer: Person
    sign: bool = False
    settings: tuple[str, ...] = ()


def read_identity(facts: RepoFacts) -> Identity:
    """The user's effective identity in a repository, as `git commit` there would take it.

    Reads the system's, the user's and the repository's configuration. Which program signs is never taken
    from the repository's own.

    Raises:
        LandingRefused: git knows no name or no address.
    """
    git = facts.git(user_config=True)
    people = read_people(git)
    if people is None:
        raise LandingRefused(unknown_person(str(facts.path)), hint="Then approve again.")
    pattern = r"^(commit\.gpgsign|user\.signingkey|gpg\..*)$"
    listed = git.run("config", "--null", "--show-scope", "--get-regexp", pattern, check=False)
    values = _signing_values(os.fsdecode(listed.stdout))
    sign = values.pop("commit.gpgsign", "false").lower() in _TRUE
    return Identity(people[0], people[1], sign, tuple(f"{key}={value}" for key, value in values.items()))


def read_people(git: Git) -> tuple[Person, Person] | None:
    """Author and committer as git names them, by a runner that reads the user's configuration; None where it cannot."""
    people = []
    for variable in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        found = git.run("var", variable, check=False)
        match = _IDENT.fullmatch(found.text) if found.status == 0 else None
        if match is None:
            return None
        people.append(Person(match["name"], match["email"]))
    return people[0], people[1]


def unknown_person(where: str) -> str:
    """The sentence for a repository, or several, in which nothing can land; without `where`, for every one."""
    there = f" in {where}, so nothing can land there" if where else ", so nothing can land"
    return (
        f"git does not know who you are{there}: run "
        '`git config --global user.name "Your Name"` and `git config --global user.email "you@example.org"`.'
    )


def why_nobody(facts: RepoFacts) -> str:
    """That no landing could name its author in a repository, and what to do; "" where one could."""
    return "" if read_people(facts.git(user_config=True)) else unknown_person(str(facts.path))


def _signing_values(listed: str) -> dict[str, str]:
    """The last value of each key that may be used, from `git config -z --show-scope`."""
    fields = listed.split("\0")
    values: dict[str, str] = {}
    for scope, item in zip(fields[::2], fields[1::2], strict=False):
        key, newline, value = item.partition("\n")
        runs_program = key.endswith((".program", ".defaultkeycommand"))
        if scope == "command" or (runs_program and scope not in _OWN_SCOPES):
            continue
        values[key] = value if newline else "true"
    return values


def compose_message(message: str, trailers: Mapping[str, str]) -> str:
    """A commit message: a subject, the text, and one block of trailers.

    Control and direction characters are made visible; comment signs stay, because nothing strips the message.
    """
    lines = [line.rstrip() for line in safe_text(message).strip().splitlines()]
    subject = lines[0] if lines else "Change"
    body = "\n".join(lines[1:]).strip("\n")
    block = "\n".join(
        f"{key}: {safe_line(value).strip()}" for key, value in trailers.items() if value.strip()
    )
    return "\n\n".join(part for part in (subject, body, block) if part) + "\n"


def make_commit(private: PrivateRepo, identity: Identity, tree: str, parent: str, message: str) -> str:
    """Make a commit in the private repository, signed where the identity signs; returns its object id.

    Raises:
        SignatureFailed: the signing program failed or was not answered in time.
    """
    env = person_environment(identity.author, identity.committer)
    args = ["commit-tree", tree, "-p", parent, "-F", "-"]
    if not identity.sign:
        return private.git.run(*args, input=message.encode("utf-8"), env=env).text
    try:
        commit = private.git.run(
            *args,
            "-S",
            input=message.encode("utf-8"),
            env=env | signing_environment(),
            config=identity.settings,
            timeout=SIGNING_TIMEOUT,
        ).text
    except GitTimeout as error:
        raise SignatureFailed(
            "The signature was not made in time.",
            hint="Unlock your key (gpg-agent or ssh-agent), then approve again.",
        ) from error
    except GitError as error:
        said = error.stderr.splitlines()[0] if error.stderr else "the signing program said nothing"
        raise SignatureFailed(
            f"commit.gpgsign is set, and signing failed: {said}.",
            hint="Make `git commit -S` work in the repository, then approve again.",
        ) from error
    return commit


Mode = Literal["branch", "current"]


class LandingRefused(NavigatorError):
    """An approved change that does not reach its branch; nothing of the user's was changed."""

    code: ClassVar[str] = "landing_refused"


class SignatureFailed(LandingRefused):
    """`commit.gpgsign` is set and no signature could be made."""

    code = "signature"


class StaleBase(LandingRefused):
    """Touched paths are no longer what the proposal was made on. `paths` names them."""

    code: ClassVar[str] = "stale"

    def __init__(self, message: str, *, paths: tuple[str, ...], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.paths = paths


class RefMoved(LandingRefused):
    """The branch moved between the plan and its execution; nothing was changed."""

    code = "moved"


class UndoRefused(LandingRefused):
    """A landing that can neither be moved back nor reverted; the message names the paths that changed
    since."""

    code = "undo_refused"


@dataclass(frozen=True, slots=True)
class LandingPlan:
    """Everything that executing, inspecting and undoing a landing needs. JSON-able through
    `dataclasses.asdict`.

    Attributes:
        mode: "branch" moves a branch that is not checked out; "current" also writes files and index of the checkout.
        ref: the full reference that moves.
        old: what it must point at before; "" when it must not exist.
        commit: what it points at afterwards; "" when it is deleted (undo of a branch that the landing made).
        parent: the new commit's parent.
        paths: what becomes of each touched path, against `parent`.
        transplanted: the tip was not the base; the touched paths were the same there.
        committer: name and address for the reflog.
    """

    mode: Mode
    proposal: str
    path: str
    git_dir: str
    common_dir: str
    work_tree: str
    private: str
    ref: str
    old: str
    commit: str
    parent: str
    tree: str
    transplanted: bool
    committer: tuple[str, str]
    paths: tuple[RawChange, ...]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LandingPlan:
        """A plan as it comes back from the journal's JSON."""
        known = {field.name for field in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        values["committer"] = tuple(values["committer"])
        values["paths"] = tuple(RawChange(**change) for change in values["paths"])
        return cls(**values)

    @property
    def branch(self) -> str:
        """Short name of the branch that moves."""
        return self.ref.removeprefix("refs/heads/")

    def git(self) -> Git:
        """A hardened runner on the user's repository."""
        work_tree = (Path(self.work_tree),) if self.work_tree else ()
        outside = (Path(self.common_dir), *work_tree)
        return Git(Path(self.git_dir), outside=outside)


def clear_plan_locks(plan: LandingPlan, *, since: float | None = None) -> list[Path]:
    """Take away the reference locks that executing a journaled plan left; returns which.

    A lock is the plan's own when its content is the commit that only this plan brings to that reference; or when it is
    empty, as git leaves it before it writes or where it deletes, no living process has it open, and it is not older
    than `since`.

    Args:
        since: seconds since the epoch when the plan was journaled; None: just now, by this process.
    """
    common, own = Path(plan.common_dir), Path(plan.git_dir)
    places = [common / f"{plan.ref}.lock", own / "HEAD.lock"]
    if not plan.commit:
        places += [common / "packed-refs.lock", common / "packed-refs.new"]

    def ours(path: Path) -> bool:
        content = path.read_bytes()
        if path.name == "packed-refs.new":
            return True  # written under packed-refs.lock, which went before it
        if content:
            # The line break is a write of its own.
            return bool(plan.commit) and content in (plan.commit.encode(), f"{plan.commit}\n".encode())
        return since is None or path.stat().st_mtime >= since - 1

    return clear(places, ours)
