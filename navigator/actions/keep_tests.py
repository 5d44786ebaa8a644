"""Keep tests: the tests that proved findings, and pass on the revision, become part of the proposal that is to land."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from navigator.actions.base import Question, Subject, SubjectVerb, Told, refusal_of
from navigator.actions.deciding import TreePin, not_waiting, require_tree
from navigator.actions.split import Built, add_part, check_now, kept_tree, part_told
from navigator.journey.change import reject
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Decision, Model, Proposal, Reproduction, Task, utc_now
from navigator.model.states import (
    DecisionKind,
    ReproductionOutcome,
    RevisedOutcome,
)

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


class KeepTestsArgs(Model):
    """The proposal, and which tests by their paths; all that can be kept where none is named.

    `tree` must be the proposal's, where it is given.
    """

    proposal: str
    tests: tuple[str, ...] = ()
    tree: TreePin = ""


class TestsKept(Model):
    """The new proposal and its task as they are now, and the tests that it holds beside the change."""

    __test__ = False

    part: Proposal
    task: Task
    tests: tuple[str, ...]


def keepable(reader: Reader, proposal: Proposal) -> list[Reproduction]:
    """The tests of earlier rounds' findings that pass on a proposal, the newest of each path."""
    found: dict[str, Reproduction] = {}
    for held in reader.held_tests(proposal.task_id, proposal.attempt):
        made = held.reproduction
        if made.revised is RevisedOutcome.PASSES and made.revised_by == proposal.id:
            found[made.path] = made
    return list(found.values())


class KeepTests(SubjectVerb[KeepTestsArgs, TestsKept]):
    """Makes a derived proposal of the whole change and the tests. It goes through every check, and is approved by its own id;
    the proposal that it is made from is decided by that."""

    name = "tests.keep"
    args = KeepTestsArgs
    result = TestsKept

    def ids(self, args: KeepTestsArgs) -> Iterable[str]:
        return [args.proposal]

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if not on.waiting:
            return not_waiting(on)
        if on.parent:
            return Conflict(f"{on.proposal} is itself made from {on.parent}.", hint="Approve or reject it.")
        return None

    def refuse(self, reader: Reader, args: KeepTestsArgs) -> NavigatorError | None:
        if (refusal := super().refuse(reader, args)) is not None:
            return refusal
        proposal = reader.proposal(args.proposal)
        changed = refusal_of(lambda: require_tree(proposal, args.tree))
        return changed or refusal_of(lambda: _chosen(reader, proposal, args.tests))

    def question(self, reader: Reader, args: KeepTestsArgs) -> Question:
        proposal = reader.proposal(args.proposal)
        paths = [made.path for made in _chosen(reader, proposal, args.tests)]
        lines = (
            *paths,
            "The checks run again with them. Nothing is approved yet: the new proposal opens next.",
        )
        return Question(f"Keep {_how_many(paths)} with {proposal.id}?", lines, "keep")

    async def perform(self, deps: Dependencies, args: KeepTestsArgs) -> TestsKept:
        parent = deps.reader.proposal(args.proposal)
        self.require(deps.reader, args)
        tests = _chosen(deps.reader, parent, args.tests)
        async with deps.project_lock(parent.project_id):
            built = await asyncio.to_thread(_build, deps, parent, tests)
        paths = tuple(made.path for made in tests)
        with deps.store.transaction() as tx:
            # Checked again: the user may have decided while the tree was made.
            self.require(deps.reader, args.model_copy(update={"tree": parent.tree}))
            part = add_part(
                tx, parent, built, f"{parent.id} with {', '.join(paths)}", "with a test of its finding"
            )
            said = f"{part.id} holds it, with {', '.join(paths)}."
            tx.add_decision(
                parent.id, Decision(kind=DecisionKind.REJECT, note=said, tree=parent.tree, at=utc_now())
            )
            reject(tx, parent.task_id, said)
            tx.event("tests_kept", parent.task_id, parent.id, {"part": part.id, "tests": list(paths)})
        if not deps.conducting:
            await check_now(deps, part.task_id)
        return TestsKept(part=deps.reader.proposal(part.id), task=deps.reader.task(part.task_id), tests=paths)

    def tell(self, result: TestsKept) -> list[Told]:
        part = result.part
        return [part_told(part, result.task, f"{part.parent} with {', '.join(result.tests)}")]


def _chosen(reader: Reader, proposal: Proposal, wanted: Sequence[str]) -> list[Reproduction]:
    """The tests to keep.

    Raises:
        Conflict: there is none, or one of those named does not pass on the proposal.
    """
    found = {made.path: made for made in keepable(reader, proposal)}
    absent = [path for path in wanted if path not in found]
    if absent:
        held = {one.reproduction.path for one in reader.held_tests(proposal.task_id, proposal.attempt)}
        why = "does not pass on it" if absent[0] in held else "is no test of its findings"
        raise Conflict(f"{absent[0]} cannot be kept with {proposal.id}: it {why}.")
    if not found:
        here = any(
            finding.reproduction is not None
            and finding.reproduction.outcome in (ReproductionOutcome.REGRESSION, ReproductionOutcome.UNMET)
            for finding in (proposal.review.findings if proposal.review else ())
        )
        why = "the tests of its findings fail on it" if here else "no test of an earlier finding passes on it"
        raise Conflict(f"{proposal.id} has no test to keep: {why}.")
    return [found[path] for path in (wanted or found)]


def _build(deps: Dependencies, parent: Proposal, tests: Sequence[Reproduction]) -> Built:
    """The proposal's tree with the tests, checked against the policy. Runs in a thread; writes the private repository only."""
    from navigator.git.hunks import Chosen, all_labels
    from navigator.git.private import FileChange

    private = deps.private(deps.project(parent.project_id))
    changes = {made.path: FileChange(content=made.text.encode(), mode=None) for made in tests}
    there = private.tree_entries(parent.tree).keys() & changes.keys()
    if there:
        raise Conflict(f"{parent.id} has {min(there)} already.")
    tree = private.write_tree(parent.tree, changes)
    what, hint = f"{parent.id} with its tests", f"Approve {parent.id} without the test."
    policy = kept_tree(deps, parent, parent.base_commit, tree, what, hint)
    files = private.diff(parent.base_commit, parent.tree)
    paths = (*parent.paths, *changes)
    chosen = Chosen(tree, all_labels(files), (), paths)
    return Built(chosen, files, private.diff(parent.base_commit, tree), policy, "")


def _how_many(paths: Sequence[str]) -> str:
    return "1 test" if len(paths) == 1 else f"{len(paths)} tests"
