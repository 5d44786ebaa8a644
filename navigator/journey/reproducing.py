"""The tests that are to prove a review's findings: asked for while the reviewer is loaded, each in the review's conversation.

The review is stored with one row for each finding before the first test is asked for, and each answer as it comes. After a
crash only what was not answered is asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from navigator.checks.policy import check_new_file
from navigator.checks.proof import read_test
from navigator.checks.removed_tests import is_test_file
from navigator.client.errors import BadAnswer, CutByLength, ServingError
from navigator.context.source import TreeSource
from navigator.edits.parser import BlockKind, marker_length, parse_answer
from navigator.edits.paths import unsafe_path
from navigator.journey.calls import Message, call_model, is_tasks_fault
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.blocks import data_block, finding_row
from navigator.journey.reviewing.grounding import weighs
from navigator.journey.reviewing.join import Talk, is_again
from navigator.journey.reviewing.prompt import OVERHEAD, Reading
from navigator.journey.subject import held_of
from navigator.model import patterns
from navigator.model.models import Finding, Project, Proposal, Reproduction, Review, Task
from navigator.model.secrets import Redactor
from navigator.model.states import ReproductionOutcome, Role, Severity, Verdict
from navigator.model.text import safe_line
from navigator.process.bounded import WorkerLost, run_bounded
from navigator.sandbox.one_test import FileReading, NoRunner, OneCommand, one_command
from navigator.sandbox.probe import probe
from navigator.store.reads.outcomes import HeldTest

TEST_TOKENS = 1_500
"""max_tokens of a test: one file that asserts one thing."""

PURPOSE = "reproduce"

_UNASKED, _PENDING = ReproductionOutcome.UNASKED, ReproductionOutcome.PENDING
_COULD_NOT = ReproductionOutcome.COULD_NOT_RUN


async def plan_reproductions(deps: Dependencies, task: Task, review: Review) -> list[Reproduction]:
    """A row for each finding that a test is to prove; empty where the settings, the project or this machine ask for none."""
    rules, project = deps.settings.review, deps.reader.project(task.project_id)
    due = to_prove(review.findings)
    if not rules.reproduce or not due or not project.check.strip() or review.verdict is Verdict.UNREVIEWED:
        return []
    if not deps.settings.checks.unsandboxed and not (await asyncio.to_thread(probe)).works:
        return []
    earlier = deps.reader.held_tests(task.id, task.attempt)
    return [_pending(review, index, earlier) for index in due[: rules.reproduce_most]]


def _pending(review: Review, index: int, earlier: Sequence[HeldTest]) -> Reproduction:
    """The row of one finding: with the test of the finding that it repeats, where there is one."""
    finding = review.findings[index]
    known = [
        held.reproduction for held in earlier if held.reproduction.text and is_again(finding, held.finding)
    ]
    told = {"finding": index, "model": review.model}
    if not known:
        return Reproduction(**told)
    again = known[-1]
    return Reproduction(
        **told, outcome=_PENDING, path=again.path, text=again.text, prompt_version=again.prompt_version
    )


def has_unasked(held: Sequence[HeldTest]) -> bool:
    """Whether one of these tests is still to be asked for."""
    return any(one.reproduction.outcome is _UNASKED for one in held)


async def ask_tests(deps: Dependencies, task: Task, proposal: Proposal, talks: Sequence[Talk]) -> None:
    """Ask for each test that is not there yet, and keep what comes.

    Raises:
        ServingError: the reviewer did not answer; what it answered before is kept.
    """
    held = held_of(deps.reader, task, proposal)
    due = [one for one in held if one.reproduction.outcome is _UNASKED]
    if not due:
        return
    project = deps.reader.project(task.project_id)
    async with deps.repositories.opened(project) as private:
        source = TreeSource(private, proposal.tree, project)
        taken = await asyncio.to_thread(
            lambda: {*source.entries, *private.tree_entries(proposal.base_commit)}
        )
    for one in due:
        made = await _ask_one(deps, task, one, talks, _Place(project, source, taken))
        with deps.store.transaction() as tx:
            tx.set_reproduction(proposal.id, one.review_id, made)


@dataclass(frozen=True)
class _Place:
    """Where a test may go: the project, the proposal's tree, and every path that is taken."""

    project: Project
    source: TreeSource
    taken: Collection[str]


async def _ask_one(
    deps: Dependencies, task: Task, held: HeldTest, talks: Sequence[Talk], place: _Place
) -> Reproduction:
    """One test: asked for, and once more where the answer cannot be used."""
    row, finding = held.reproduction, held.finding
    talk = next((talk for talk in talks if finding.hunk in talk.reading.labels), None)
    if talk is None:
        return _without(row, "its part of the review no longer exists")
    suffix = PurePosixPath(finding.path).suffix
    paths = place.source.paths()
    tests = test_folders(paths, suffix) or test_folders(paths, "")
    read = file_reader(place.source)
    try:
        runner = one_command(place.project.check, _sample(tests, suffix), _SAMPLE_TEXT, read)
    except NoRunner as error:
        return _without(row, str(error))
    marker = marker_length([message["content"] for message in talk.reading.messages])
    # What a model said is sent back to it without what it should never have known.
    said = deps.redact(talk.answer)
    messages: list[Message] = [*talk.reading.messages, {"role": "assistant", "content": said}]
    problem = ""
    for attempt in range(2):
        version, message = _message(deps, place.project, finding, runner, tests, marker, problem)
        messages.append(message)
        if not _fits(deps, talk.reading, messages):
            return row if problem else _without(row, "the context has no room for a test")
        row = row.model_copy(update={"prompt_version": version})
        try:
            seq = 2 * row.finding + attempt
            answer = await _asked(deps, task, version, messages, seq, f"review {held.review_id}")
        except _NoAnswer as error:
            return _without(row, f"no test was written: {error}")
        made = await asyncio.to_thread(_usable_test, deps.redact, answer, marker, place)
        if isinstance(made, WrittenTest):
            return row.model_copy(
                update={"outcome": _PENDING, "reason": "", "path": made.path, "text": made.text}
            )
        row = row.model_copy(update={"outcome": made.outcome, "reason": made.reason})
        if not made.again:
            break
        problem = made.reason
        messages.append({"role": "assistant", "content": deps.redact(answer)})
    return row


class _NoAnswer(Exception):
    """This request alone got none: asking again later would change nothing."""


async def _asked(
    deps: Dependencies, task: Task, version: str, messages: Sequence[Message], seq: int, shows: str
) -> str:
    """The answer: the one that was kept before a crash, or a new one.

    Raises:
        _NoAnswer: it would get none later either. ServingError: the server did not answer.
    """
    try:
        answer = await call_model(
            deps,
            Role.REVIEWER,
            task,
            purpose=PURPOSE,
            prompt_version=version,
            messages=messages,
            max_tokens=min(TEST_TOKENS, deps.settings.server(Role.REVIEWER).max_tokens),
            seq=seq,
            shows=shows,
        )
    except ServingError as error:
        if isinstance(error, CutByLength | BadAnswer) or is_tasks_fault(
            deps.reader, task, error, Role.REVIEWER
        ):
            raise _NoAnswer(error.message) from error
        raise
    return answer.text


def _fits(deps: Dependencies, reading: Reading, messages: Sequence[Message]) -> bool:
    count = deps.counter_for(Role.REVIEWER).count
    spent = reading.tokens + sum(count(said["content"]) for said in messages[len(reading.messages) :])
    return spent + OVERHEAD + TEST_TOKENS <= deps.settings.server(Role.REVIEWER).context_tokens


def _without(row: Reproduction, reason: str) -> Reproduction:
    return row.model_copy(update={"outcome": _COULD_NOT, "reason": reason})


def _usable_test(redact: Redactor, text: str, marker: int, place: _Place) -> WrittenTest | NoTest:
    """The test in an answer if it can be run, else why not. Problems that only a run shows are not looked for."""
    read = read_test_answer(text, marker, place.taken)
    if isinstance(read, NoTest):
        return read
    if redact(read.text) != read.text:
        return NoTest(_COULD_NOT, "the test holds a secret", again=False)
    try:
        one_command(place.project.check, read.path, read.text, file_reader(place.source))
        if read.path.endswith(".py"):
            facts = run_bounded(read_test, read.text, size=len(read.text))
            if facts.problem:
                return NoTest(_COULD_NOT, facts.problem)
    except (NoRunner, WorkerLost) as error:
        return NoTest(_COULD_NOT, str(error))
    return read


def _message(
    deps: Dependencies,
    project: Project,
    finding: Finding,
    runner: OneCommand,
    tests: Sequence[str],
    marker: int,
    problem: str,
) -> tuple[str, Message]:
    told = json.dumps(finding_row(finding), ensure_ascii=False, indent=1)
    key = deps.keys.key_for([told])
    _, user, version = deps.prompts.render(
        "reproduce",
        finding=data_block("finding", key, told),
        command=project.check.strip(),
        runner=runner.runner,
        tests=tests,
        open="<" * marker,
        close=">" * marker,
        problem=problem,
    )
    return version, {"role": "user", "content": user}


_SAMPLE_TEXT = "func TestSample(t *testing.T) {}\n"


def _sample(tests: Sequence[str], suffix: str) -> str:
    """A path like that of the test to come, to see whether it could be run."""
    if tests:
        return tests[0]
    return "sample_test.go" if suffix == ".go" else f"tests/test_sample{suffix or '.py'}"


def file_reader(source: TreeSource) -> FileReading:
    """Returns what reads a file of `source` by its path, as text; None where there is none."""

    def read(path: str) -> str | None:
        content = source.read(path)
        return None if content is None else content.decode("utf-8", "replace")

    return read


# What a reviewer's answer with a test may hold, and where the file may lie.


LONGEST_TEST = 20_000
"""Characters of a test file."""

_NO_TEST = patterns.compile(r"^[\s>*#`_]*NO_TEST[*`_]*[ \t]*:[*`_]*\s*(.*)", patterns.MULTILINE)
_SUPPORT = frozenset({"conftest.py", "__init__.py", "setup.py", "noxfile.py", "sitecustomize.py"})
_GRAVE = tuple(Severity)


@dataclass(frozen=True, slots=True)
class WrittenTest:
    """A test file that may be run."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class NoTest:
    """An answer that leaves nothing to run. `again`: another answer may do better."""

    outcome: ReproductionOutcome
    reason: str
    again: bool = True


def to_prove(findings: Sequence[Finding]) -> list[int]:
    """The indexes of the findings that a test is asked for, the gravest first, those that follow a precedent last."""
    found = [index for index, finding in enumerate(findings) if weighs(finding)]
    return sorted(
        found, key=lambda index: (findings[index].set_aside, _GRAVE.index(findings[index].severity))
    )


def read_test_answer(text: str, marker: int, taken: Collection[str]) -> WrittenTest | NoTest:
    """The test file of an answer.

    Args:
        marker: the length of the markers that were asked for.
        taken: every path of the base and of the proposal: a test is a new file.
    """
    answer = parse_answer(text, marker=marker)
    if not answer.blocks and not answer.problems:
        declined = _NO_TEST.search(text)
        if declined is not None:
            reason = safe_line(declined[1]).strip()[:300] or "no reason given"
            return NoTest(
                ReproductionOutcome.COULD_NOT_RUN, f"the reviewer wrote no test: {reason}", again=False
            )
        return _unusable("the answer holds no file")
    if answer.problems:
        return _unusable(answer.problems[0].message)
    paths = {block.path for block in answer.blocks}
    touched = sorted(path for path in paths if path in taken or not is_test_file(path))
    if touched:
        return NoTest(
            ReproductionOutcome.NOT_REPRODUCED,
            f"the test edits the project: {safe_line(', '.join(touched))[:200]}",
        )
    if len(answer.blocks) > 1 or answer.blocks[0].kind is not BlockKind.WHOLE:
        return _unusable("one whole new file was asked for")
    block = answer.blocks[0]
    if problem := why_not_there(block.path, taken):
        return NoTest(ReproductionOutcome.NOT_REPRODUCED, f"the test edits the project: {problem}")
    body = "\n".join(block.body) + "\n"
    if len(body) > LONGEST_TEST:
        return _unusable(f"the file has more than {LONGEST_TEST} characters")
    return WrittenTest(block.path, body)


def _unusable(why: str) -> NoTest:
    return NoTest(ReproductionOutcome.COULD_NOT_RUN, f"no usable test: {safe_line(why)[:300]}")


def why_not_there(path: str, taken: Collection[str]) -> str:
    """Why no test may be written at a path; "" where one may."""
    shown = safe_line(path)[:200]
    if problem := unsafe_path(path):
        return f"{shown}: {problem}"
    pure = PurePosixPath(path)
    if pure.name in _SUPPORT:
        return f"{shown} is no test, but what tests are run with"
    folders = {str(parent) for name in taken for parent in PurePosixPath(name).parents}
    above = next((parent for parent in pure.parents if str(parent) in taken), None)
    if above is not None or path in folders:
        return f"{shown} is in the way of another file"
    said = check_new_file(path, taken)
    return f"{shown}: {said[0].detail or said[0].rule}" if said else ""


def test_folders(paths: Collection[str], suffix: str) -> list[str]:
    """Some of the project's own test files, the shallowest first: they show where tests lie and what they are called."""
    own = [path for path in paths if path.endswith(suffix) and is_test_file(path) and path.isprintable()]
    own = [path for path in own if PurePosixPath(path).name not in _SUPPORT]
    return sorted(own, key=lambda path: (path.count("/"), path))[:6]
