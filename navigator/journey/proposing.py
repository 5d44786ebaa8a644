"""What every way of writing ends in: a proposal, or the word that nothing needs to change."""

from __future__ import annotations

from navigator.journey import change
from navigator.journey.checking import UNTESTED
from navigator.journey.choosing import put_away_as_same
from navigator.journey.dependencies import Dependencies
from navigator.journey.drafting import Draft
from navigator.journey.prompts.material import Ground, sent_back
from navigator.journey.testing import keep
from navigator.model.models import Proposal
from navigator.model.text import cut_title, safe_line

_TITLE = 72


async def propose(deps: Dependencies, ground: Ground, made: Draft, *, way: str = "blocks") -> None:
    """Keep a draft as the round's proposal; its tests, where the project has some, run next.

    A revision that leaves the tree as it was is no new proposal: read again, the same change could only be judged otherwise.
    """
    task = ground.task
    before = deps.reader.proposals(task_id=task.id)[-1:] if task.round else []
    if before and (before[0].attempt, before[0].round, before[0].tree) == (
        task.attempt,
        task.round - 1,
        made.tree,
    ):
        deps.move(change.change_nothing, task, ground.writer, "its answer changes nothing.")
        return
    cost = deps.reader.round_cost(task.id, task.attempt, task.round, ground.writer)
    proposal = Proposal(
        id="",
        task_id=task.id,
        project_id=task.project_id,
        project=task.project,
        attempt=task.attempt,
        round=task.round,
        base_commit=ground.source.treeish,
        tree=made.tree,
        written_by=ground.writer,
        way=way,
        title=title_of(_said_first(made.prose) if sent_back(deps.reader, task) else "")
        or title_of(task.text)
        or "change",
        summary=made.prose,
        edits=made.edits,
        policy=made.policy,
        checks=made.checks,
        added=sum(file.added for file in made.files),
        removed=sum(file.removed for file in made.files),
        prompt_version=cost.prompt_version,
        model=cost.model,
        usage=cost.usage,
        **cost.uncertainty.model_dump(),
    )
    await keep(deps, ground, made.tree)
    with deps.store.transaction() as tx:
        if put_away_as_same(tx, task, proposal):
            return
        added = tx.add_proposal(proposal)
        if not ground.source.project.check.strip():
            tx.set_checks(added.id, (*made.checks, UNTESTED))
            change.ask_review(tx, task)
        # Else it stays in `checking`: its tests run apart from this stage, which holds the writer's place.


def title_of(text: str) -> str:
    """The first line of a text, at most 72 characters; "" where there is none."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return cut_title(line, _TITLE)


def _said_first(prose: str) -> str:
    """The first sentence of what a writer says of its change: another attempt may do more than its task's first line says."""
    return safe_line(prose.strip().partition("\n")[0].partition(". ")[0].rstrip("."))
