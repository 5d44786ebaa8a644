"""The tests of findings, run: on the base and on the proposal, twice each; then the verdict.

CPU alone: the reviewer may be swapped out meanwhile. A run that is cut off is made again; nothing is asked of a model here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from navigator.checks.proof import Source, read_test, whole_statements
from navigator.context.source import TreeSource, learn_withheld
from navigator.git.diffs import decode_lines
from navigator.journey.checking import FINDING_TESTS, CheckSetup, check_setup
from navigator.journey.dependencies import Dependencies
from navigator.journey.reproducing import file_reader
from navigator.journey.reviewing.grounding import derive_verdict
from navigator.journey.subject import held_of
from navigator.model.models import CheckResult, Proposal, Reproduction, Review, Task
from navigator.model.states import REPRODUCED, CheckOutcome, ReproductionOutcome, RevisedOutcome
from navigator.model.text import safe_line
from navigator.process.bounded import WorkerLost, run_bounded
from navigator.process.runner import cancellable
from navigator.sandbox.judge import Ruling, Traced, agreed, alone, change_of, judged
from navigator.sandbox.one_test import (
    AGAIN,
    FIRST,
    NoRunner,
    TestFile,
    TestRun,
    Variant,
    one_command,
    run_test,
    watched_files,
)
from navigator.sandbox.spec import SandboxSpec
from navigator.sandbox.suite import prepare
from navigator.store.reads.outcomes import HeldTest

if TYPE_CHECKING:
    from navigator.config.settings import Settings
    from navigator.model.secrets import Redactor
    from navigator.store.writes.writer import Transaction

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_PENDING, _COULD_NOT = ReproductionOutcome.PENDING, ReproductionOutcome.COULD_NOT_RUN


async def run_pending(deps: Dependencies, task: Task, proposal: Proposal) -> list[HeldTest]:
    """Run the tests of a review's findings that were not run yet, each outcome kept as it comes; returns all its tests."""
    held = held_of(deps.reader, task, proposal)
    due = [one for one in held if one.reproduction.outcome is _PENDING]
    if due:
        deps.on_live({"task": task.id, "checking": task.project})
        bench = await _bench(deps, task, proposal)
        await asyncio.gather(*(_prove(deps, task, proposal, one, bench) for one in due))
    return held


def settled(tx: Transaction, settings: Settings, proposal: Proposal, held: Sequence[HeldTest]) -> Review:
    """The review of a proposal, with the verdict that follows from its findings and their tests, `held`."""
    review = tx.read.proposal(proposal.id).review
    assert review is not None
    if not held:
        return review
    block_on = settings.review.block_on
    verdict = derive_verdict(review.findings, block_on)
    tx.settle_review(proposal.id, held[0].review_id, verdict, review.findings, block_on)
    return review.model_copy(update={"verdict": verdict})


@dataclass(frozen=True)
class _Bench:
    """Everything the runs of one proposal's tests share."""

    setup: CheckSetup
    change: Traced
    files: tuple[str, ...]
    base: str
    base_spec: SandboxSpec
    spec: SandboxSpec
    source: TreeSource


async def _bench(deps: Dependencies, task: Task, proposal: Proposal) -> _Bench:
    setup = await check_setup(deps, deps.reader.project(task.project_id))
    return await asyncio.to_thread(_made_bench, deps.redact, setup, proposal)


def _made_bench(redact: Redactor, setup: CheckSetup, proposal: Proposal) -> _Bench:
    private, project = setup.private, setup.project
    base = private.tree_of(proposal.base_commit)
    files = private.diff(proposal.base_commit, proposal.tree)
    change = change_of(files)
    source, before = TreeSource(private, proposal.tree, project), TreeSource(private, base, project)
    change = Traced(
        {
            path: _bounded(whole_statements, source, path, lines) or lines
            for path, lines in change.added.items()
        },
        {
            path: _bounded(whole_statements, before, path, lines) or lines
            for path, lines in change.removed.items()
        },
    )
    learn_withheld(redact, project, private, proposal.tree)
    return _Bench(
        setup,
        change,
        tuple(file.new_path for file in files),
        base,
        prepare(project, private, base),
        prepare(project, private, proposal.tree),
        source,
    )


def _bounded(
    read: Callable[[str, frozenset[int]], _T], source: TreeSource, path: str, lines: frozenset[int]
) -> _T | None:
    """What `read` finds in a file of the tree; None where it cannot be read within the limits."""
    text = "\n".join(decode_lines(source.read(path) or b"").splitlines())
    try:
        return run_bounded(read, text, lines, size=len(text))
    except WorkerLost:
        return None


async def _prove(deps: Dependencies, task: Task, proposal: Proposal, held: HeldTest, bench: _Bench) -> None:
    row = held.reproduction
    runs: list[TestRun] = []
    made = await _judgement(deps, task, proposal, held, bench, runs)
    seconds = round(sum(run.seconds for run in runs), 3)
    told = {"outcome": made.outcome, "reason": made.reason, "failure": made.failure, "seconds": seconds}
    log.info("%s: the test of finding %d: %s", proposal.id, row.finding + 1, made.reason)
    with deps.store.transaction() as tx:
        tx.set_reproduction(proposal.id, held.review_id, row.model_copy(update=told))


async def _judgement(
    deps: Dependencies, task: Task, proposal: Proposal, held: HeldTest, bench: _Bench, runs: list[TestRun]
) -> Ruling:
    """Read the test, run it, judge it. What settles it early spares the other runs."""
    row, finding = held.reproduction, held.finding
    facts = Source()
    try:
        command = one_command(bench.setup.project.check, row.path, row.text, file_reader(bench.source))
        if command.traced:
            facts = await asyncio.to_thread(run_bounded, read_test, row.text, bench.files, size=len(row.text))
    except (NoRunner, WorkerLost) as error:
        return Ruling(_COULD_NOT, str(error))
    if facts.problem:
        return Ruling(_COULD_NOT, facts.problem)
    if facts.refusals:
        return Ruling(ReproductionOutcome.NOT_REPRODUCED, facts.refusals[0])
    watched = watched_files([*bench.change.watched, finding.path])
    test = TestFile(row.path, row.text, command, watched)

    async def pair(variant: Variant, *, base_first: bool) -> Ruling:
        # The second pair in the other order: what depends on being first is seen as a difference.
        trees = [(bench.spec, proposal.tree), (bench.base_spec, bench.base)]
        found: dict[str, TestRun] = {}
        for spec, tree in reversed(trees) if base_first else trees:
            found[tree] = await _run(deps, bench.setup, spec, tree, test, variant)
            runs.append(found[tree])
            if tree == proposal.tree and (settled := alone(found[tree])) is not None:
                return settled
        return judged(
            facts, bench.change, finding, task.text, row.path, found[bench.base], found[proposal.tree]
        )

    first = await pair(FIRST, base_first=False)
    if first.outcome not in REPRODUCED:
        return first
    return agreed(first, await pair(AGAIN, base_first=True))


async def _run(
    deps: Dependencies, setup: CheckSetup, spec: SandboxSpec, tree: str, test: TestFile, variant: Variant
) -> TestRun:
    async with deps.cpu_work.room_for_check():
        return await cancellable(
            partial(
                run_test,
                spec,
                setup.private,
                tree,
                test,
                setup.limits,
                setup.sandbox,
                setup.scratch,
                variant=variant,
                without=setup.without,
                redact=deps.redact,
            )
        )


async def run_again(deps: Dependencies, task: Task, proposal: Proposal) -> tuple[CheckResult, ...]:
    """The tests of earlier rounds' findings on a revision: which findings it meets, and which regressions are still there.

    Returns:
        One check, or none where there is no such test.
    """
    earlier = _newest_of_each(
        [
            held
            for held in deps.reader.held_tests(task.id, task.attempt)
            if held.round < proposal.round and held.reproduction.outcome in REPRODUCED
        ]
    )
    if not earlier:
        return ()
    setup = await check_setup(deps, deps.reader.project(task.project_id))
    spec = await asyncio.to_thread(prepare, setup.project, setup.private, proposal.tree)
    source = TreeSource(setup.private, proposal.tree, setup.project)
    runs = await asyncio.gather(
        *(run_kept(deps, setup, spec, source, proposal.tree, held.reproduction) for held in earlier)
    )
    outcomes = [revised_outcome(run) for run in runs]
    with deps.store.transaction() as tx:
        told = [
            (held.review_id, held.reproduction.finding, outcome)
            for held, outcome in zip(earlier, outcomes, strict=True)
        ]
        tx.set_revised(told, proposal.id)
    return (_as_check(earlier, outcomes, runs),)


def _newest_of_each(held: Sequence[HeldTest]) -> list[HeldTest]:
    """Each test once: a finding that was repeated brought its test along."""
    return list({(one.reproduction.path, one.reproduction.text): one for one in held}.values())


async def run_kept(
    deps: Dependencies,
    setup: CheckSetup,
    spec: SandboxSpec,
    source: TreeSource,
    tree: str,
    made: Reproduction,
) -> TestRun:
    """A stored test on a tree, once."""
    if made.path in source.entries:
        return TestRun(problem=f"{safe_line(made.path)} is now a file of the change")
    try:
        command = one_command(setup.project.check, made.path, made.text, file_reader(source))
    except NoRunner as error:
        return TestRun(problem=str(error))
    return await _run(deps, setup, spec, tree, TestFile(made.path, made.text, command), FIRST)


def revised_outcome(run: TestRun) -> RevisedOutcome:
    """What a run of a stored test says."""
    if run.problem or run.written:
        return RevisedOutcome.COULD_NOT_RUN
    return RevisedOutcome.FAILS if run.failed else RevisedOutcome.PASSES


def _as_check(
    held: Sequence[HeldTest], outcomes: Sequence[RevisedOutcome], runs: Sequence[TestRun]
) -> CheckResult:
    """A regression that is still there is this change's doing; a requirement that is still not met, the base has too."""
    lines: list[str] = []
    worst = CheckOutcome.PASSED
    for one, outcome, run in zip(held, outcomes, runs, strict=True):
        made = one.reproduction
        what = made.outcome.value.replace("_", " ")
        said = f"{made.path} ({what}, round {one.round}): {outcome.value.replace('_', ' ')}"
        lines.append(said + (f": {run.problem}" if run.problem else ""))
        if outcome is not RevisedOutcome.FAILS:
            continue
        lines.append(run.failed[0].message)
        if made.outcome is ReproductionOutcome.REGRESSION:
            worst = CheckOutcome.FAILED
        elif worst is CheckOutcome.PASSED:
            worst = CheckOutcome.FAILED_BEFORE
    if all(outcome is RevisedOutcome.COULD_NOT_RUN for outcome in outcomes):
        worst = CheckOutcome.UNTESTED
    seconds = round(sum(run.seconds for run in runs), 3)
    return CheckResult(name=FINDING_TESTS, outcome=worst, seconds=seconds, detail="\n".join(lines)[:4_000])
