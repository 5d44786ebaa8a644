"""The backtest's items: commits that brought in bugs, as they were, and beside each an innocent one of the same size.

The reviewer is asked about them like about the exam's items (`queue`): blinded, by turns, in slots that no review needs. What it
is shown is the commit, its message and the files of that time; nothing of what came later.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from navigator.exam.blame import Blame, Blamed, brought_by, mechanical, repairs
from navigator.exam.candidates import OutOfTime, Rejected, kind_of, words_of_commit
from navigator.exam.making import Maker, keep_name
from navigator.exam.mining import Commit, named_faulty, read_history, why_withheld
from navigator.exam.prepare import maker_of
from navigator.figures.exam import Backtest, Case, caught_of, size_words
from navigator.figures.intervals import Share
from navigator.git.facts import WORKTREE, RepoFacts, read_base
from navigator.git.private import PrivateRepo
from navigator.git.runner import GitError
from navigator.journey.dependencies import Dependencies
from navigator.model import patterns
from navigator.model.errors import NavigatorError
from navigator.model.models import Project, utc_now
from navigator.model.records import ExamItem, PreparedProject, SourceCount
from navigator.model.states import PAST, Complexity, ExamSource
from navigator.sheet.exam_worth import backtest_words

BUGS = 40
"""Bugs of a project that are asked about, unless another number is named: enough for an interval of 15 points to each side."""

# Commits that are read.
HISTORY = 10_000

_DAY = 86_400
_LEAST_AGE = 30 * _DAY
"""An innocent commit is at least this much older than the newest one: a bug needs time to be found."""

_LIKE = 2.0
"""An innocent commit has as many changed lines of code, up to this factor."""

# Test runs of one call: what is cheap; a bug counts without a proof, too.
_PROOF_SECONDS = 300.0

_HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "git.sr.ht", "gitee.com")
_HOST = patterns.compile(r"(?:^|@|//)(?:www\.)?([a-z0-9.-]+\.[a-z]+)[:/]", patterns.IGNORECASE)


@dataclass
class _History:
    """What is known of a project's past.

    Attributes:
        bugs: each fix that leads to a commit, with that, and each commit once; fixes with tests first, then the newest.
        guilty: every commit that some fix leads to, by any of its lines.
        left: fixes that lead nowhere, by the reason.
        public: the host of a public remote; "" where none is known.
    """

    private: PrivateRepo
    commits: Sequence[Commit]
    fixes: int
    public: str
    bugs: list[tuple[Commit, Commit, Blamed]] = field(default_factory=list)
    guilty: set[str] = field(default_factory=set)
    left: Counter[str] = field(default_factory=Counter)


async def prepare_backtest(
    deps: Dependencies, project: Project, *, limit: int | None = None, since: int = 0
) -> PreparedProject:
    """Find the commits that brought in a project's bugs, and keep them as items, each with an innocent one.

    Every pair is stored before the next is made. For a few minutes, today's tests say which fixes they
    would miss.

    Args:
        limit: bugs; `BUGS` by default.
        since: seconds since 1970; only fixes from then on.
    """
    deps.exams_wanted += 1
    began = time.monotonic()
    try:
        async with deps.exam_lock:
            history = await _look_back(deps, project, since)
            made = await _keep_pairs(deps, project, history, limit or BUGS)
    except NavigatorError as error:
        return PreparedProject(project=project.name, problem=error.message, hint=error.hint)
    finally:
        deps.exams_wanted -= 1
    return made.model_copy(update={"seconds": round(time.monotonic() - began, 1)})


async def _look_back(deps: Dependencies, project: Project, since: int) -> _History:
    """Blame every fix of the history: those before `since`, too, as they say who is not innocent.

    Raises:
        NavigatorError: the repository cannot be read.
    """
    async with deps.project_lock(project.id):
        history, blame = await asyncio.to_thread(_open, deps, project)
    known = {commit.sha: commit for commit in history.commits}
    for number, fix in enumerate(repairs(history.commits), 1):
        try:
            async with deps.project_lock(project.id):
                found = await asyncio.to_thread(blame.of, fix)
        except GitError as error:
            _tell_progress(deps, project, f"{fix.sha[:12]}: {error.message}")
            found = Blamed(None, why="git cannot say who wrote its lines")
        history.guilty |= found.suspects
        if number % 100 == 0:
            _tell_progress(deps, project, f"looked at {number} fixes")
        if fix.when < since:
            continue
        history.fixes += 1
        if found.commit is None:
            history.left[found.why] += 1
        else:
            history.bugs.append((fix, known[found.commit], found))
    # Fixes that change tests, too, led to the right commit more often.
    history.bugs.sort(key=lambda one: not one[0].tested)
    first = {bug.sha: fix for fix, bug, _ in reversed(history.bugs)}
    every, history.bugs = history.bugs, [one for one in history.bugs if first[one[1].sha] is one[0]]
    if again := len(every) - len(history.bugs):
        history.left["another fix leads to the same commit"] = again
    return history


def _open(deps: Dependencies, project: Project) -> tuple[_History, Blame]:
    """The history and who asks git about it. Blocks."""
    private = deps.private(project)
    head = read_base(project.path, "" if project.base == WORKTREE else project.base)
    commits = read_history(private.facts, head, HISTORY)
    blame = Blame(private, commits, brought_by(private, head))
    history = _History(private, commits, 0, public_host(private.facts))
    history.guilty |= named_faulty(commits)
    return history, blame


def public_host(facts: RepoFacts) -> str:
    """The host of the first remote that is on a public forge; "" where there is none. Whether others may read it is not known."""
    listed = facts.git().run("config", "--get-regexp", r"^remote\..*\.url$", check=False).text
    hosts = [
        match[1].lower() for line in listed.splitlines() if (match := _HOST.search(line.split(" ", 1)[-1]))
    ]
    return next((host for host in hosts if host in _HOSTS), "")


def neighbour(bug: Commit, fix: Commit, commits: Sequence[Commit], barred: Collection[str]) -> Commit | None:
    """An innocent commit to go with a faulty one: of the same author if there is one, of like size, the nearest in time.

    It has had as long to be found out as the bug was there.
    """
    patience = max(_LEAST_AGE, fix.when - bug.when)
    newest = max(commit.when for commit in commits)
    like = [
        commit
        for commit in commits
        if commit.sha not in barred
        and not commit.routine
        and commit.when <= newest - patience
        and any(file.added for file in commit.code)
        and commit.code_lines <= _LIKE * bug.code_lines
        and bug.code_lines <= _LIKE * commit.code_lines
    ]
    return min(like, key=lambda one: (one.author != bug.author, abs(one.when - bug.when)), default=None)


async def _keep_pairs(deps: Dependencies, project: Project, history: _History, limit: int) -> PreparedProject:
    left, before = Counter(history.left), 0
    mine = _mine(deps, project)
    with deps.store.transaction() as tx:
        for item in mine:
            if item.source is ExamSource.INNOCENT and item.origin.split(":")[2] in history.guilty:
                tx.retire_exam_item(item.id, "a fix leads to it")
    known = {item.origin for item in mine}
    barred = {*history.guilty, *mechanical(history.commits), *(item.origin.split(":")[2] for item in mine)}
    proving = await _Proving.begin(deps, project)
    kept = sum(item.faulty for item in mine)
    for fix, bug, blamed in history.bugs:
        if _origin(project, ExamSource.SHIPPED, bug) in known:
            before += 1
            continue
        if kept >= limit:
            continue
        beside = neighbour(bug, fix, history.commits, barred)
        pair = await _pair(deps, project, history, (fix, bug, blamed), beside, await proving.of(fix))
        if pair is None:
            left["a model may not be shown the commit"] += 1
            continue
        barred |= {item.origin.split(":")[2] for item in pair}
        with deps.store.transaction() as tx:
            number = tx.add_exam_item(pair[0])
            for item in pair[1:]:
                tx.add_exam_item(item.model_copy(update={"control_of": number}))
        kept += 1
        _tell_progress(deps, project, f"bug {kept} of {limit}: {bug.sha[:12]} {bug.subject}")
    count = SourceCount(
        found=history.fixes,
        known=before,
        tried=history.fixes,
        kept=history.fixes - left.total(),
        rejected=dict(left),
    )
    items = _mine(deps, project)
    return PreparedProject(
        project=project.name,
        sources={ExamSource.SHIPPED.value: count},
        faulty=sum(item.faulty for item in items),
        clean=sum(not item.faulty for item in items),
        runs=proving.runs,
        ended=proving.said,
    )


def _mine(deps: Dependencies, project: Project) -> list[ExamItem]:
    """The backtest's items of a project."""
    return [one for one in deps.reader.exam_items() if one.project_id == project.id and one.source in PAST]


async def _pair(
    deps: Dependencies,
    project: Project,
    history: _History,
    found: tuple[Commit, Commit, Blamed],
    beside: Commit | None,
    proof: str,
) -> list[ExamItem] | None:
    """The items of a bug, held in the private repository; None where the commit may be shown to no model."""
    fix, bug, blamed = found
    facts = {
        "fix": fix.sha,
        "fix_subject": fix.subject,
        "days": max(0, fix.when - bug.when) // _DAY,
        "share": round(blamed.share, 3),
        "lines": blamed.lines,
        "places": [[path, line, line] for path, line in sorted(blamed.places)],
        "proof": proof,
    }
    async with deps.project_lock(project.id):
        items = [await asyncio.to_thread(_item, deps, project, history, bug, ExamSource.SHIPPED, facts)]
        if beside is not None:
            same = {"same_author": beside.author == bug.author}
            items.append(
                await asyncio.to_thread(_item, deps, project, history, beside, ExamSource.INNOCENT, same)
            )
    return [item for item in items if item is not None] if items[0] is not None else None


def _item(
    deps: Dependencies,
    project: Project,
    history: _History,
    commit: Commit,
    source: ExamSource,
    facts: Mapping[str, object],
) -> ExamItem | None:
    """One commit as it was, pinned with its base. Blocks."""
    private = history.private
    text = words_of_commit(commit.subject, commit.body)
    tree = private.tree_of(commit.sha)
    if not text or why_withheld(private, project, commit.parent, tree, text):
        return None
    origin = _origin(project, source, commit)
    private.pin_bases((commit.parent, commit.sha))
    private.keep(keep_name(origin), tree, commit.parent)
    places = facts.get("places")
    path, line = (places[0][0], places[0][1]) if isinstance(places, list) and places else ("", 0)
    made_from = {"made_from": f"commit {commit.sha[:12]} {commit.subject}", "public": history.public}
    return ExamItem(
        project_id=project.id,
        source=source,
        faulty=source is ExamSource.SHIPPED,
        origin=origin,
        text=deps.redact(text),
        kind=kind_of(commit),
        complexity=Complexity.MEDIUM,
        base_commit=commit.parent,
        tree=tree,
        title=deps.redact(commit.subject),
        path=path,
        line=line,
        end_line=line,
        changed_lines=commit.lines,
        evidence=deps.redact.data({**made_from, **facts}),
        created=utc_now(),
    )


def _origin(project: Project, source: ExamSource, commit: Commit) -> str:
    return f"{project.id}:{source.value}:{commit.sha}"


@dataclass
class _Proving:
    """Takes fixes back on today's code and runs the tests, as long as there is time for it; `said`: why it does not, or ended."""

    maker: Maker | None = None
    said: str = ""

    @classmethod
    async def begin(cls, deps: Dependencies, project: Project) -> _Proving:
        try:
            return cls(await maker_of(deps, project, _PROOF_SECONDS))
        except NavigatorError as error:
            return cls(said=error.message)

    @property
    def runs(self) -> int:
        return self.maker.trials.runs if self.maker else 0

    async def of(self, fix: Commit) -> str:
        """`FAILING` where a test of today fails without the fix, else in words why that is not known."""
        if self.maker is None:
            return self.said
        held = self.maker.known.get((ExamSource.REVERSED_FIX, fix.sha))
        if held is not None and (held.kept or self.maker.tried(ExamSource.REVERSED_FIX, fix.sha)):
            return FAILING if held.kept else held.reason
        try:
            await self.maker.trials.failing(await self.maker.take_back(fix), self.maker.passed)
        except Rejected as error:
            return str(error)
        except OutOfTime:
            self.said = "the time for test runs is used up"
            return self.said
        return FAILING


def _tell_progress(deps: Dependencies, project: Project, said: str) -> None:
    deps.on_live({"exam": {"project": project.name, "said": said}})


_SIZES = (0, 10, 50, 150)

FAILING = "failing"
"""The proof of a fix without which a test of today fails."""


def by_size(found: Backtest) -> list[tuple[str, Share]]:
    """The share caught by changed lines of the commit; sizes that none has are left out."""
    sized: dict[int, list[Case]] = {}
    for case in found.bugs:
        sized.setdefault(max(one for one in _SIZES if one <= case.item.changed_lines), []).append(case)
    return [(size_words(least), caught_of(sized[least])) for least in sorted(sized)]


def by_chance(found: Backtest) -> float:
    """How many bugs would be caught if each commit's findings were at random lines of its change."""
    return sum(
        1
        - (1 - min(1.0, len(case.item.evidence["places"]) / max(1, case.item.changed_lines)))
        ** case.asked_for
        for case in found.bugs
    )


def proved(case: Case) -> bool:
    """Whether a test of today fails without the fix."""
    return bool(case.item.evidence.get("proof") == FAILING)


def how_sure(found: Backtest) -> str:
    """How sure it is that these were the bugs, and what is not seen, in words."""
    alone = sum(case.item.evidence["share"] == 1 for case in found.bugs)
    unread = f"{found.unread} answers could not be read. " if found.unread else ""
    return (
        f"{unread}As many findings at random lines would catch {by_chance(found):.1f}. Without {sum(map(proved, found.bugs))} of "
        f"these {len(found.bugs)} fixes a test of today fails; {alone} lead to one commit alone. About one in four commits is "
        "not where the bug came from, so more may have been caught; bugs whose fixes only add lines are not seen."
    )


def worth_reading(found: Backtest, most: int = 3) -> tuple[list[Case], list[Case]]:
    """The best cases, caught in the largest changes, and the worst: missed, the surest bugs and the smallest changes first."""
    best = sorted(
        (case for case in found.bugs if case.answer.named), key=lambda case: -case.item.changed_lines
    )
    worst = sorted(
        (case for case in found.bugs if not case.answer.named),
        key=lambda case: (not proved(case), -case.item.evidence["share"], case.item.changed_lines),
    )
    return best[:most], worst[:most]


def document(found: Backtest, reviewer: str) -> dict[str, Any]:
    """The result as JSON."""
    each = found.alarms_each
    return {
        "reviewer": reviewer,
        "sentence": backtest_words(found),
        "caught": _share_json(found.caught),
        "flagged": _share_json(found.flagged),
        "false_alarms_each": {"value": each.value, "low": each.low, "high": each.high} if each else None,
        "by_chance": round(by_chance(found), 2),
        "unreviewed": found.unread,
        "by_size": [{"changed_lines": name, **_share_json(one)} for name, one in by_size(found)],
        "bugs": [_case(case) for case in found.bugs],
    }


def _share_json(found: Share) -> dict[str, Any]:
    return {"value": found.rate, "low": found.low, "high": found.high, "n": found.n}


def _case(case: Case) -> dict[str, Any]:
    """One bug: its commit, its fix, and whether it was caught."""
    known = ("fix", "fix_subject", "days", "share", "lines", "places", "proof")
    return {
        "commit": case.item.origin.rpartition(":")[2],
        "title": case.item.title,
        "changed_lines": case.item.changed_lines,
        "caught": case.answer.named,
        "verdict": case.answer.verdict,
        "findings": case.asked_for,
    } | {name: case.item.evidence[name] for name in known}
