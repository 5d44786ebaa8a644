"""The answers of the writing model, one by one: the opening, the repair of what does not apply or fails tests.

Every answer is stored before it is judged: a restart judges it, and does not ask again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable
from typing import TypeVar

from navigator.edits.parser import parse_answer
from navigator.journey import moves
from navigator.journey.calls import Message, ask
from navigator.journey.dependencies import Dependencies
from navigator.journey.drafting import POLICY_CODE, NotApplied, Outcome, draft
from navigator.journey.looking import ask_looking, restore_looks
from navigator.journey.prompts.blocks import data_block
from navigator.journey.prompts.material import Material, findings_block, worth_sending
from navigator.journey.testing import tests_of
from navigator.model.errors import NavigatorError
from navigator.model.models import Task
from navigator.model.states import EITHER_KINDS, EditCode, Role, TaskKind, TaskState
from navigator.model.text import safe_line
from navigator.store.database import require_space
from navigator.store.errors import StoreError
from navigator.store.reads.ledger import StoredAnswer
from navigator.store.reads.reader import Reader
from navigator.store.writes.ledger import REFUSED, TESTS_FAILED

_T = TypeVar("_T")

REPAIRS_A_FILE = 2
WHOLE_FILE_LINES = 400
CALLS_A_ROUND = 8
"""Calls in one round at most, whatever the files: a model that never gets there is stopped."""

LOOKING = "looking"
"""What a proposal says of a writer that asked to be shown more before it wrote it."""


def agent_writes(deps: Dependencies, task: Task) -> bool:
    """Whether the agent of the settings writes this task. An attempt goes on as it began."""
    if deps.writer_of(task) is not Role.GENERATOR or task.ref:
        return False
    if any(turn.outcome != "lost" for turn in deps.reader.agent_turns(task.id, task.attempt)):
        return True
    began = deps.reader.wrote(task.id) is not None and not deps.reader.agent_turns(task.id, task.attempt)
    return not began and deps.settings.generator.agent.writes(task.kind)


async def begin(deps: Dependencies, task: Task, gathering: Awaitable[_T]) -> _T | None:
    """What is written from, as `gathering` gives it; None where the task was given up for want of it.

    Raises:
        StoreError: it could not be written down.
    """
    if task.state is not TaskState.CHECKING:
        deps.move(moves.start_writing, task)
    try:
        return await gathering
    except StoreError:
        raise
    except NavigatorError as error:
        require_space(deps.paths.root)  # git reports a full disk in many ways: none is the task's fault
        deps.move(moves.give_up, task, f"{error}")
        return None


async def report(deps: Dependencies, material: Material) -> None:
    """Ask for a report, or a scan for suggestions, unless a stored answer is there, and keep it."""
    task = material.task
    if task.kind is TaskKind.SCAN:
        from navigator.journey.scan import scan

        await scan(deps, material)
        return
    messages, version = material.asking(deps.prompts, "report", kind=task.kind.value)
    stored = _newest(deps.reader, material)
    text = stored.text if stored else await ask(deps, task, material.writer, "report", version, messages)
    if text is not None:
        deps.move(moves.keep_report, task, text)


def is_report(material: Material, text: str) -> bool:
    """Whether the first answer to a task that may be either is a report: no edit block, and a Markdown heading first.

    A revision never is one.
    """
    task = material.task
    if task.kind not in EITHER_KINDS or task.round > 0 or not text.lstrip().startswith("#"):
        return False
    answer = parse_answer(text, marker=material.prompted.marker)
    return not answer.blocks and not answer.problems and answer.no_change is None


async def answered(deps: Dependencies, material: Material) -> str | None:
    """The answer to judge next: the stored one, or a new one. None where the task left this stage instead."""
    await restore_looks(deps, material)
    stored = _newest(deps.reader, material)
    if stored is None:
        return await _open(deps, material)
    if stored.outcome == TESTS_FAILED:
        return await _fix_tests(deps, material, stored.text)
    return stored.text


def _newest(reader: Reader, material: Material) -> StoredAnswer | None:
    task = material.task
    return reader.last_answer(task.id, task.attempt, task.round, role=material.writer)


async def applied(deps: Dependencies, material: Material, text: str) -> Outcome:
    """Apply the newest answer. What does not apply is recorded, unless it was before an interruption."""
    task, newest = material.task, _newest(deps.reader, material)
    again = newest is not None and newest.outcome == REFUSED
    if not again:
        deps.move(moves.apply_answer, task)
    outcome = await deps.repositories.locked(task.project_id, _drafted, material, text)
    if isinstance(outcome, NotApplied) and not again:
        _store_refused(deps, material, outcome)
    return outcome


def way_of(material: Material) -> str:
    """How a proposal says that a model wrote it."""
    return LOOKING if material.talk is not None and material.talk.turns else "blocks"


def _drafted(material: Material, text: str) -> Outcome:
    return draft(text, material.source, marker=material.prompted.marker, shown=material.shown_whole())


async def repaired(deps: Dependencies, material: Material, text: str, refused: NotApplied) -> str | None:
    """The next answer after one that did not apply; None where the task left this stage instead."""
    task = material.task
    next_step = _repair(deps, material, refused)
    if isinstance(next_step, str):
        deps.move(moves.give_up, task, next_step)
        return None
    if task.state is TaskState.CHECKING:
        # Taken up on the CPU alone, perhaps while the reviewer holds the GPU: the repair waits for the writer.
        deps.move(moves.write_later, task, "a repair is due")
        return None
    deps.move(moves.start_writing, task)
    return await _ask_again(deps, material, text, "repair", *next_step)


def _opening_messages(deps: Dependencies, material: Material) -> tuple[list[Message], str, str]:
    """The messages that open this round, the version of the prompt that leads it, and its purpose."""
    task = material.task
    messages = list(material.prompted.messages)
    if task.round == 0:
        return messages, material.prompted.version, "generate"
    if material.talk is not None:
        messages += material.talk.messages(*range(task.round))
    previous = deps.reader.last_answer(task.id, task.attempt, task.round - 1, role=material.writer)
    review = deps.reader.review_of_round(task.id, task.attempt, task.round - 1)
    findings = worth_sending(review.findings) if review else []
    _, user, version = deps.prompts.render(
        "revise", findings=findings_block("findings", findings, material.prompted.key)
    )
    if previous is not None:
        messages.append({"role": "assistant", "content": previous.text})
    messages.append({"role": "user", "content": user})
    return messages, version, "revise"


async def _fix_tests(deps: Dependencies, material: Material, text: str) -> str | None:
    """Ask for the change again, with what its tests printed; None when the task left this stage instead."""
    proposal = moves.proposal_of_round(deps.reader, material.task)
    result = tests_of(proposal) if proposal is not None else None
    assert result is not None, "kept with the word that they failed"
    key = deps.keys.key_for([result.detail])
    _, user, version = deps.prompts.render(
        "repair-tests",
        command=safe_line(material.source.project.check),
        output=data_block("output", key, result.detail),
    )
    return await _ask_again(deps, material, text, "repair-tests", version, user)


async def _ask_again(
    deps: Dependencies, material: Material, text: str, purpose: str, version: str, user: str
) -> str | None:
    """Say what is wrong with an answer: after the round's opening, the looks that it was written after, and itself."""
    task = material.task
    messages, _, _ = _opening_messages(deps, material)
    newest = _newest(deps.reader, material)
    if material.talk is not None and newest is not None:
        messages += material.talk.messages(task.round, before=newest.call_id)
    messages += [{"role": "assistant", "content": text}, {"role": "user", "content": user}]
    return await ask_looking(deps, material, purpose, version, messages)


async def _open(deps: Dependencies, material: Material) -> str | None:
    messages, version, purpose = _opening_messages(deps, material)
    return await ask_looking(deps, material, purpose, version, messages)


def _repair(deps: Dependencies, material: Material, refused: NotApplied) -> tuple[str, str] | str:
    """The version of the prompt for the next message to the model, and that message; or in words why there is none."""
    task = material.task
    codes = ", ".join(sorted({code for code, _ in refused.failures}))
    where = ", ".join(safe_line(path) for path in refused.paths if path)
    verdict = f"The edits did not apply ({codes}{' in ' + where if where else ''}): {refused.problems[0]}"
    tried = Counter(deps.reader.failed_paths(task.id, task.attempt, task.round))
    place = (task.id, task.attempt, task.round, material.writer)
    if deps.reader.answers_judged(*place, REFUSED, TESTS_FAILED) >= CALLS_A_ROUND:
        return verdict
    worst = max(refused.paths, key=lambda path: tried[path])
    whole = ""
    if tried[worst] > REPAIRS_A_FILE:
        code_is_policy = any(code == POLICY_CODE for code, path in refused.failures if path == worst)
        if tried[worst] > REPAIRS_A_FILE + 1 or code_is_policy or not _fits_whole(material, worst):
            return verdict
        whole = worst
    _, user, version = deps.prompts.render("repair", problems=refused.problems, whole_file=whole)
    return version, user


def _fits_whole(material: Material, path: str) -> bool:
    """Whether a file may be asked for whole: it is short, and the model was shown all of it."""
    if path not in material.shown_whole():
        return False
    content = material.source.read(path)
    return content is not None and content.count(b"\n") <= WHOLE_FILE_LINES


def _store_refused(deps: Dependencies, material: Material, refused: NotApplied) -> None:
    task = material.task
    with deps.store.transaction() as tx:
        answer = _newest(deps.reader, material)
        assert answer is not None
        tx.judge_call(answer.call_id, REFUSED)
        for code, path in refused.failures:
            tx.add_edit_failure(
                task.id,
                task.attempt,
                task.round,
                EditCode(code),
                path,
                model=answer.model,
            )
        tx.event("edits_refused", task_id=task.id, data={"problems": [p[:500] for p in refused.problems]})
