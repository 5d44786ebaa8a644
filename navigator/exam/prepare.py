"""Prepares the exam: tries a project's fixes and accepted changes until there are enough items."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Sequence

from navigator.exam.candidates import OutOfTime, Picked, accepted_changes, fixes, of_commits
from navigator.exam.items import own_items, prepared, tell_progress
from navigator.exam.making import OWN, PROVED, Maker, maker_of
from navigator.exam.mining import Commit
from navigator.journey.dependencies import Dependencies
from navigator.model.models import Project
from navigator.model.records import PreparedProject, SourceCount
from navigator.model.states import ExamSource


async def prepare_project(
    deps: Dependencies,
    project: Project,
    *,
    limit: int | None = None,
    sources: Sequence[ExamSource] = (),
    seconds: float | None = None,
    behind: bool = False,
) -> PreparedProject:
    """Make items of one project.

    What keeps a project from having any is said in the result, not raised. It may be cancelled at any time: every result is
    stored before the next candidate is tried.

    Args:
        limit: faulty items the project is to have; by default that of the settings, like `seconds`, which test runs may take.
        sources: what to make; all where none is given.
        behind: end after the candidate under way when somebody else wants to prepare items.
    """
    settings = deps.settings.exam

    async def make() -> PreparedProject:
        maker = await maker_of(deps, project, settings.prepare_seconds if seconds is None else seconds)
        return await _prepare(maker, limit or settings.items, sources or PROVED, behind=behind)

    return await prepared(deps, project, OWN, make)


async def _prepare(
    maker: Maker, limit: int, sources: Sequence[ExamSource], *, behind: bool
) -> PreparedProject:
    """Try candidates, always of the source with the fewest items, until there are enough."""
    deps, project = maker.deps, maker.project
    every = {source: _candidates(maker, source) for source in sources}
    used = maker.used()
    left = {
        source: deque(one for one in ones if one.key not in used and maker.held(source, one.key) is None)
        for source, ones in every.items()
    }
    counts = {
        source: Counter(found=len(every[source]), known=len(every[source]) - len(ones))
        for source, ones in left.items()
    }
    rejected: defaultdict[ExamSource, Counter[str]] = defaultdict(Counter)
    ended = ""
    while not ended:
        faulty = Counter(item.source for item in own_items(deps, project, OWN) if item.faulty)
        open_ = [source for source, ones in left.items() if ones]
        if not open_:
            ended = "no candidates are left"
        elif faulty.total() >= limit:
            ended = "there are enough items"
        elif behind and deps.exams_wanted > 1:
            ended = "another run takes over"
        else:
            source = min(open_, key=faulty.__getitem__)
            candidate = left[source].popleft()
            if candidate.key in maker.used():
                counts[source]["known"] += 1
                continue
            try:
                reason = await maker.attempt(source, candidate)
            except OutOfTime:
                ended = "the time is used up; the next run continues"
                continue
            counts[source].update(["tried"] if reason else ["tried", "kept"])
            rejected[source].update([reason] if reason else [])
            tell_progress(
                deps,
                project,
                f"{source.value.replace('_', ' ')} of {candidate.key[:12]}: {reason or 'kept'}"
                f" ({faulty.total() + (not reason)} of {limit})",
            )
    return PreparedProject(
        project=project.name,
        sources={
            source.value: SourceCount(**count, rejected=dict(rejected[source]))
            for source, count in counts.items()
        },
        runs=maker.trials.runs,
        ended=ended,
    )


def _candidates(maker: Maker, source: ExamSource) -> list[Commit | Picked]:
    """Everything that may become an item of a source, what you approved first."""
    if source is ExamSource.REVERSED_FIX:
        return [*fixes(maker.commits)]
    return [*accepted_changes(maker.deps, maker.project), *of_commits(maker.commits)]
