"""`navigator review`, `fix` and `hook`: have existing work reviewed, and its findings fixed."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from navigator.actions.projects import Hook
from navigator.actions.reviews import AddReview, RequestFix
from navigator.cli import output, session
from navigator.cli.command import Commands, Note, ProjectName, ProposalId, Value, command
from navigator.cli.project import targets
from navigator.config.paths import StatePaths
from navigator.config.settings import load_settings
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.states import LOOP_TASK_STATES, Severity, TaskState
from navigator.rehearsal.engine import time_scale as scale_of
from navigator.store.lock import read_holder
from navigator.swap import make_strategy

if TYPE_CHECKING:
    from navigator.model.secrets import Redactor

_PAUSE = 0.5
"""Seconds between two looks at the store while waiting."""

NOTHING = "nothing_to_review"
UNSETTLED = 4
"""Exit code of `--fail-on` where a review does not say whether there is such a finding."""

_ON_THE_WAY = LOOP_TASK_STATES - {TaskState.STALE}


@command()
def review(
    words: Annotated[tuple[str, ...], Value("[PROJECT] [REF|RANGE]")] = (),
    *,
    branch: Annotated[str, Value("B")] = "",
    staged: bool = False,
    worktree: bool = False,
    each: bool = False,
    queue: bool = False,
    fail_on: Severity | None = None,
    format_: Literal["text", "json", "sarif", "markdown"] | None = None,
) -> None:
    """Have existing work reviewed: a commit, a range such as main..topic, a branch, staged or uncommitted work.

    Without PROJECT it is the repository of the current folder, without REF its last commit. The review is made now, by the
    conductor where one runs, else by this command. What is reviewed is never changed or landed. A change that was reviewed before
    is not reviewed again: its review is printed at once.

    Args:
        branch: Everything on a branch since it left the project's base.
        staged: What is staged.
        worktree: What is not committed, untracked files included.
        each: Each commit of the range or branch separately.
        queue: Queue the review for the conductor, and do not wait for it.
        fail_on: Exit with 1 if there is a finding of this severity or a worse one, with 4 without a verdict.
        format_: How to print the reviews.
    """
    if queue and (fail_on or format_ in ("sarif", "markdown")):
        raise UsageError("--queue waits for no review, so there is nothing to print or to judge yet.")
    form = output.form(format_)
    named = {"branch": branch, "staged": staged, "worktree": worktree}
    if (len(words) > 1) + sum(map(bool, named.values())) > 1:
        raise UsageError("Give only one of REF, --branch, --staged and --worktree.")
    settings = load_settings()
    if not queue and settings.swap.strategy is None:
        make_strategy(settings, session.state_paths())  # says what to do
    session.take_config_projects()
    project, ref = targets(words)
    verb = AddReview.read({"project": project, "ref": ref, **named, "each": each})
    try:
        done = session.act(verb)
    except NavigatorError as error:
        if queue or getattr(error, "remote_code", error.code) != NOTHING:
            raise
        output.note(str(error))  # no failure: a script that reviews what is staged may find nothing staged
        _show_reviews((), form)
        return
    queued = done.data
    if not queue:
        for one in queued["left_out"]:
            output.note(f"{one['ref']} is left out: {one['reason']}")
        _print_reviews([task["id"] for task in queued["tasks"]], form, fail_on, new=queued["new"])
        return
    paths = session.state_paths()
    redact = _redactor(paths, queued["proposals"][-1:])
    document = {"tasks": [redact.data(task) for task in queued["tasks"]]}
    told = [replace(one, id=redact(one.id), text=redact(one.text)) for one in done.told]
    if form == "json":
        output.print_json(document)
        return
    session.report(told, document)
    if queued["new"] and read_holder(paths.lock) is None:
        output.note("`navigator run --until reviewed` reviews what waits.")


def _show_reviews(documents: Sequence[dict[str, Any]], form: str) -> None:
    from navigator.sheet import reviews as words

    if form == "json":
        output.print_json({"reviews": documents})
    elif form == "sarif":
        output.print_json(words.sarif(documents))
    elif documents:
        output.say(words.shown(documents, form))


def _print_reviews(tasks: Sequence[str], form: str, fail_on: str | None, *, new: Collection[str]) -> None:
    """Wait for the tasks, and print their reviews.

    Exits with 1 on a finding that `fail_on` names. Without a verdict, and with `fail_on` where a REVISE was overruled, nothing
    is settled: exits with `UNSETTLED`, or with 1 without `fail_on`.
    """
    from navigator.sheet.reviews import overruled, standing, unread

    paths = session.state_paths()
    _wait(paths, tasks)
    documents = _documents(paths, tasks)
    _show_reviews(documents, form)
    for one in documents:
        _say_next(one, new=one["task"] in new)
    if missing := unread(documents):
        names = ", ".join(one["proposal"] for one in missing)
        output.note(f"No verdict: {names}.")
    if against := overruled(documents) if fail_on else []:
        names = ", ".join(one["proposal"] for one in against)
        output.note(f"The reviewer said REVISE, but none of its serious findings count: {names}.")
    if fail_on and standing(documents, fail_on):
        sys.exit(1)
    if missing or against:
        sys.exit(UNSETTLED if fail_on else 1)


def _say_next(one: dict[str, Any], *, new: bool) -> None:
    """When it was reviewed, where that was before, and what can be done now."""
    if not new and one["at"]:
        at = datetime.fromisoformat(one["at"]).astimezone()
        output.note(f"Reviewed on {at:%Y-%m-%d at %H:%M}. Again: `navigator escalate {one['proposal']}`.")
    if one["findings"]:
        output.note(
            f"`navigator fix {one['proposal']}` has the findings fixed; `navigator task done {one['task']}` puts the review away."
        )


def _wait(paths: StatePaths, ids: Sequence[str]) -> None:
    """Until none of the tasks is on its way. Without a conductor this process reviews them, once; it says why where it cannot."""
    from navigator.cli.run import conduct

    said = ""
    while left := _on_the_way(paths, ids):
        names = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        alone = session.live_status() is None
        now = f"with {load_settings().reviewer.model}" if alone else "by the conductor that runs"
        if now != said:
            output.note(f"Reviewing {names} {now} …")
            said = now
        if alone:
            with suppress(Conflict):  # another command holds the state, for a moment or as the conductor
                ended = conduct(
                    paths, until="reviewed", only=frozenset(left), quiet=True, time_scale=scale_of(None)
                )
                if _on_the_way(paths, ids):
                    why = " ".join(dict.fromkeys(ended["problems"].values())) or ended["reason"]
                    output.note(f"{names}: not reviewed, queued again. {why}")
                return
        time.sleep(_PAUSE)


def _on_the_way(paths: StatePaths, ids: Sequence[str]) -> list[str]:
    with session.reading(paths) as store:
        return [one for one in ids if store.task(one).state in _ON_THE_WAY]


def _documents(paths: StatePaths, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The reviews as they may leave this machine."""
    from navigator.sheet.reviews import review_document

    with session.reading(paths) as store:
        found = [(store.task(one), store.proposals(task_id=one)[-1]) for one in ids]
        redact = _redactor(paths, [held.id for _, held in found])
        return [review_document(store, task, proposal, redact) for task, proposal in found]


def _redactor(paths: StatePaths, proposals: Sequence[str]) -> Redactor:
    """Knows the secrets of these changes."""
    from navigator.engine.acting import learn_changes
    from navigator.model.secrets import Redactor

    redact = Redactor()
    with session.reading(paths) as store:
        learn_changes(redact, paths, store, [store.proposal(one) for one in proposals])
    return redact


@command(yes=True)
def fix(identifier: ProposalId, *, note: Note = "") -> None:
    """Queue a task that fixes what a review of existing work found, on the branch that holds that work.

    Args:
        note: What to add to the findings.
    """
    session.carry_out(RequestFix.read({"proposal": identifier, "note": note}))


@click.group(cls=Commands)
def hook() -> None:
    """Install or remove a post-commit hook that queues each commit for review."""


@command(hook)
def install(project: ProjectName) -> None:
    """Install the hook in PROJECT's repository, where there is none of another program."""
    session.carry_out(Hook(project=project))


@command(hook)
def remove(project: ProjectName) -> None:
    """Remove the hook."""
    session.carry_out(Hook(project=project, install=False))
