"""`navigator review`: have existing work reviewed."""

from __future__ import annotations

import click

from navigator.cascade.verbs.review_change import AddReview, ReviewArgs
from navigator.cli import output
from navigator.cli.session import act, complete_projects, report, take_config_projects
from navigator.domain.errors import UsageError


@click.command()
@click.argument("project", shell_complete=complete_projects)
@click.argument("ref", default="", metavar="[REF|RANGE]")
@click.option(
    "--branch", default="", metavar="B", help="Everything on a branch since it left the project's base."
)
@click.option("--staged", is_flag=True, help="What is staged.")
@click.option("--worktree", is_flag=True, help="What is not committed, untracked files included.")
@click.option("--each", is_flag=True, help="Each commit of the range or branch separately.")
@output.JSON
def review(
    project: str, ref: str, branch: str, staged: bool, worktree: bool, each: bool, as_json: bool
) -> None:
    """Queue existing work for review: a commit, a range such as main..topic, a branch, staged or uncommitted work.

    Without REF it is the last commit. What is reviewed is never changed or landed.
    """
    if bool(ref) + bool(branch) + staged + worktree > 1:
        raise UsageError("Give only one of REF, --branch, --staged and --worktree.")
    take_config_projects()
    verb = AddReview()
    queued = act(
        verb,
        ReviewArgs(project=project, ref=ref, branch=branch, staged=staged, worktree=worktree, each=each),
    )
    document = {"tasks": [task.model_dump(mode="json") for task in queued.tasks]}
    report(verb.tell(queued), document if as_json else None)
    if not as_json and queued.new:
        output.note("`navigator run --until reviewed` reviews what waits.")
