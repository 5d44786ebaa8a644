"""What an agent is told: the task, and later what is wrong with its change."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from navigator.journey.dependencies import Dependencies
from navigator.journey.moves import proposal_of_round
from navigator.journey.prompts.assemble import RelatedChange, elsewhere_blocks, task_block
from navigator.journey.prompts.blocks import KeyRing, data_block
from navigator.journey.prompts.material import Ground, findings_block, worth_sending
from navigator.journey.testing import tests_of
from navigator.model.states import EITHER_KINDS
from navigator.model.text import safe_line

_SECRET = "agent_key"


def first(deps: Dependencies, ground: Ground, elsewhere: Sequence[RelatedChange] = ()) -> tuple[str, str]:
    """The prompt's version and text that open a task; `elsewhere` changed in other projects before."""
    task, project = ground.task, ground.source.project
    key = _ring(deps).key_for([task.text, task.note, *(one.text for one in elsewhere)])
    conventions = project.conventions if project.conventions in set(ground.source.paths()) else ""
    _, text, version = deps.prompts.render(
        "agent",
        project=project.name,
        folder=project.path,
        key=key,
        task=task_block(task, key),
        note=data_block("note", key, task.note) if task.note else "",
        elsewhere=elsewhere_blocks(elsewhere, key),
        sent_back=any(one.sent_back for one in elsewhere),
        conventions=conventions,
        check=safe_line(project.check),
        may_report=task.kind in EITHER_KINDS,
    )
    return version, text


def again(
    deps: Dependencies,
    ground: Ground,
    *,
    tests_failed: bool = False,
    problems: Sequence[str] = (),
) -> tuple[str, str]:
    """The prompt's version and text that send a change back to the agent.

    A new session, which knows nothing of what was done, is told that, too.

    Args:
        tests_failed: the project's tests fail with the change; else, without problems, a reviewer asked for a revision.
        problems: why the change cannot be taken, for the session that made it.
    """
    task, project = ground.task, ground.source.project
    proposal = proposal_of_round(deps.reader, task) if tests_failed else None
    result = tests_of(proposal) if proposal is not None else None
    review = None
    if not tests_failed and not problems and task.round > 0:
        review = deps.reader.review_of_round(task.id, task.attempt, task.round - 1)
    findings = worth_sending(review.findings) if review else []
    output = result.detail if result is not None else ""
    key = _ring(deps).key_for([task.text, task.note, output, *(f"{one.model_dump()}" for one in findings)])
    _, text, version = deps.prompts.render(
        "agent-again",
        fresh=not problems,
        project=project.name,
        folder=project.path,
        key=key,
        task=task_block(task, key),
        findings=findings_block("findings", findings, key) if findings else "",
        output=data_block("output", key, output) if output else "",
        check=safe_line(project.check),
        problems=[safe_line(problem)[:500] for problem in problems],
    )
    return version, text


def _ring(deps: Dependencies) -> KeyRing:
    """Keys that are the same after a restart, so that an interrupted agent is asked the same again."""
    secret = deps.reader.meta(_SECRET, str)
    if not isinstance(secret, str):
        secret = secrets.token_hex(16)
        with deps.store.transaction() as tx:
            tx.set_meta(_SECRET, secret)
    return KeyRing(secret.encode("ascii"))
