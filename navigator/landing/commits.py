"""Making the commit of a landing: who the user is to git, and whether they sign. Its message comes from `cascade/stages/land.py`.

The commit is made in the private repository, so that nothing of the user's is written before the plan is
journaled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from navigator.git.facts import RepoFacts
from navigator.git.private import PrivateRepo
from navigator.git.runner import (
    Git,
    GitError,
    GitTimeout,
    Person,
    person_environment,
    signing_environment,
)
from navigator.landing.plan import LandingRefused, SignatureFailed
from navigator.model import patterns
from navigator.model.text import safe_line, safe_text

SIGNING_TIMEOUT = 120.0
"""Seconds in which the user may answer a passphrase dialog."""

_IDENT = patterns.compile(r"(?P<name>.*) <(?P<email>.*)> \d+ [+-]\d{4}")
_TRAILER_KEY = patterns.compile(r"[A-Za-z][A-Za-z0-9-]*")
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

    Raises:
        ValueError: a trailer's key is not made of letters, digits and `-`.
    """
    lines = [line.rstrip() for line in safe_text(message).strip().splitlines()]
    subject = lines[0] if lines else "Change"
    body = "\n".join(lines[1:]).strip("\n")
    for key in trailers:
        if _TRAILER_KEY.fullmatch(key) is None:
            raise ValueError(f"not a trailer key: {key!r}")
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
