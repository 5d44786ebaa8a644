"""Preparing the exam on a real repository with real tests in the real sandbox: what becomes an item, what does not, and why."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from navigator.actions.registry import perform
from navigator.exam import candidates as trials
from navigator.exam import making, queue
from navigator.exam.candidates import neutral_words
from navigator.exam.items import keep_name
from navigator.exam.making import prepare_project
from navigator.exam.queue import ACCEPTED, keep_preparing
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import Storage
from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.model.models import Project
from navigator.model.records import ExamItem, PreparedProject
from navigator.model.secrets import Redactor
from navigator.model.states import ExamSource
from navigator.sandbox.probe import Sandbox
from tests.git.world import fingerprint
from tests.journey.room import Bench
from tests.journey.support import REHEARSAL, git, make_repository
from tests.sandbox.support import needs_sandbox

CHECK = "python3 -m unittest"

START = """def half(x):
    return x / 2


def middle(items):
    return items[len(items) // 2]


def label(x):
    if x > 0:
        return "more"
    return "less"
"""
FIXED = START.replace(
    "    return items[len", '    if not items:\n        raise ValueError("no items")\n    return items[len'
)
FEATURE = (
    FIXED.replace("def half(x):\n", "def half(x, whole=False):\n    if whole:\n        return x // 2\n")
    + "\n\ndef both(x):\n    return half(x, True) + 1, label(x)\n"
)
RENAMED = FEATURE.replace("def label(x):\n    if x > 0:", "def label(value):\n    if value > 0:")
ABOVE = "import unittest\n\nimport app\n\n\nclass App(unittest.TestCase):\n"
T_START = (
    ABOVE + "    def test_half(self):\n        self.assertEqual(app.half(8), 4)\n\n"
    "    def test_label(self):\n        self.assertEqual([app.label(1), app.label(0)], ['more', 'less'])\n\n"
    "    def test_middle(self):\n        self.assertEqual(app.middle([1, 2, 3]), 2)\n"
)
T_FIXED = T_START + (
    "\n    def test_middle_of_nothing(self):\n        with self.assertRaises(ValueError):\n            app.middle([])\n"
)
T_FEATURE = T_FIXED + "\n    def test_both(self):\n        self.assertEqual(app.both(9), (5, 'more'))\n"

HISTORY: tuple[tuple[str, dict[str, str]], ...] = (
    ("Fix middle() of an empty list\n\nSecret plan.", {"app.py": FIXED, "test_app.py": T_FIXED}),
    ("Add both() and whole halves", {"app.py": FEATURE, "test_app.py": T_FEATURE}),
    ("Refactor label(): rename its argument", {"app.py": RENAMED}),
    ("Fix the wording of the manual", {"manual.md": "Read it.\n"}),
)


class ProvingRoom(Bench):
    """A bench whose repository has a history."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, monkeypatch, REHEARSAL)
        files = {"app.py": START.encode(), "test_app.py": T_START.encode()}
        self.repository = make_repository(folder / "code", files)
        for message, changed in HISTORY:
            self.commit(changed, message)

    def register(self, check: str = CHECK) -> None:
        self.act("project.add", path=str(self.repository), name="code", check=check)

    def prepare(self, **args: Any) -> PreparedProject:
        (found,) = self.act("exam.prepare", **args)["projects"]
        return PreparedProject.model_validate(found)

    def items(self, *, retired: bool = False) -> list[ExamItem]:
        return self.read().exam_items(retired=retired)

    def diff(self, item: ExamItem) -> list[FileDiff]:
        with self.world() as deps:
            return list(
                deps.repositories.private(deps.reader.project(item.project_id)).diff(
                    item.base_commit, item.tree
                )
            )


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProvingRoom:
    return ProvingRoom(tmp_path, monkeypatch)


def of(items: list[ExamItem], source: ExamSource) -> ExamItem:
    (found,) = [item for item in items if item.source is source]
    return found


@needs_sandbox
@pytest.mark.sandbox
def test_items_are_made_of_a_history_and_proved_by_its_tests(room: ProvingRoom) -> None:
    room.register()
    before = fingerprint(room.repository)
    made = room.prepare()
    items = room.items()
    assert fingerprint(room.repository) == before, "the user's repository is not touched"
    assert (made.problem, made.ended) == ("", "no candidates are left")
    faulty = [item for item in items if item.faulty]
    clean = [item for item in items if not item.faulty]
    assert {item.source for item in faulty} == {ExamSource.REVERSED_FIX}
    assert len(faulty) == len(clean) == made.faulty == made.clean
    fix = of(faulty, ExamSource.REVERSED_FIX)
    (file,) = room.diff(fix)
    removed = [line.text.strip() for hunk in file.hunks for line in hunk.lines if line.kind == "-"]
    assert removed == ["if not items:", 'raise ValueError("no items")']
    assert (fix.path, fix.changed_lines) == ("app.py", 2)
    assert any("test_middle_of_nothing" in name for name in fix.evidence["failing"])
    # The refactoring of label() is taken back in the same way: that alone tells nothing.
    (control,) = clean
    assert control.evidence["form"] == "taken back" and control.kind is fix.kind
    for item in (fix, control):
        assert "Fix" not in item.text + item.title and "Secret plan" not in item.text
    with room.world() as deps:
        held = deps.repositories.private(deps.reader.project("code")).kept()
        assert {keep_name(item.origin): (item.tree, item.base_commit) for item in items} == held
    # What was tried is not tried again until the project changes.
    again = room.prepare()
    assert made.runs > 0 and again.runs == 0
    assert all(count.tried == 0 and count.known == count.found for count in again.sources.values())
    room.commit({"more.py": "x = 1\n"}, "Add a file")
    later = room.prepare().sources["reversed_fix"]
    # The fix is an item already; only the candidates that a new HEAD may decide otherwise are tried.
    assert later.tried == later.found - later.known and later.kept == 0
    held = room.read().newest_baseline(1)
    tip = git(room.repository, "rev-parse", "HEAD^{tree}")
    assert held is not None and held.tree == tip, "no trial is a baseline"


@needs_sandbox
@pytest.mark.sandbox
def test_the_bound_on_time_ends_it_and_a_removed_project_has_no_items(room: ProvingRoom) -> None:
    room.register()
    with room.world() as deps:
        project = deps.reader.project("code")
        none = asyncio.run(prepare_project(deps, project, seconds=0.0))
        assert none.ended.startswith("the time is used up") and none.faulty == 0
        assert not [trial for trial in deps.reader.exam_trials(project.id) if trial.runs]
    assert room.prepare(limit=1).ended == "there are enough items"
    assert len(room.items()) == 2
    room.act("project.remove", names=["code"])
    assert room.items() == []
    assert {item.retired for item in room.items(retired=True)} == {"its project was removed"}
    assert json.loads(room.desk.read("gc", "--json"))["exam_items"] == 2


@needs_sandbox
@pytest.mark.sandbox
def test_a_check_of_a_task_ends_the_trial(room: ProvingRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    room.register()
    began: list[str] = []
    cut: list[str] = []
    real = trials.run_tree

    async def watched(redact: Redactor, setup: Any, tree: str, spec: Any) -> Any:
        began.append(tree)
        if len(began) == 1:
            work.checks_wanted += 1  # a task's check arrives while the trial runs
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cut.append(tree)
                work.checks_wanted -= 1
                raise
        if began.count(tree) > 1 + (tree in cut):  # its second run to the end: it passes now
            tree = setup.private.tree_of(git(room.repository, "rev-parse", "HEAD"))
        return await real(redact, setup, tree, spec)

    monkeypatch.setattr(trials, "run_tree", watched)
    with room.world() as deps:
        work = deps.cpu_work
        made = asyncio.run(prepare_project(deps, deps.reader.project("code")))
    assert cut == began[:1] and began[1] == cut[0], "the same tree is run again, from its beginning"
    assert made.faulty == 0
    assert "the failure does not repeat" in made.sources["reversed_fix"].rejected


@needs_sandbox
@pytest.mark.sandbox
def test_a_fault_that_hangs_proves_nothing(room: ProvingRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = "\n\ndef last(x):\n    while x > 1:\n        x -= {0}\n    return x\n"
    test = "\n    def test_last(self):\n        self.assertEqual(app.last(3), 1)\n"
    room.commit({"app.py": RENAMED + loop.format(0), "test_app.py": T_FEATURE}, "Add last()")
    room.commit({"app.py": RENAMED + loop.format(1), "test_app.py": T_FEATURE + test}, "Fix last()")
    room.register()
    monkeypatch.setattr(making, "_PATIENCE", 1.0)
    monkeypatch.setattr(making, "_TIMES", 0.0)
    with room.world() as deps:  # time for one run
        made = asyncio.run(prepare_project(deps, deps.reader.project("code"), seconds=0.1))
    assert made.sources["reversed_fix"].rejected == {"the tests run into a limit": 1}


@needs_sandbox
@pytest.mark.sandbox
def test_a_crash_before_the_rows_leaves_trees_that_gc_drops(room: ProvingRoom) -> None:
    room.register()

    class Crash(BaseException):
        pass

    with room.world() as deps:
        original = deps.store.transaction

        def crashing() -> Any:
            private = deps.repositories.private(deps.reader.project("code"))
            if private.kept():
                raise Crash
            return original()

        deps.store.transaction = crashing  # type: ignore[method-assign]
        with pytest.raises(Crash):
            asyncio.run(prepare_project(deps, deps.reader.project("code")))
    assert room.items() == []
    assert room.prepare().faulty == 1, "the next run makes the item"
    with room.world() as deps:
        private = deps.repositories.private(deps.reader.project("code"))
        item = of(room.items(), ExamSource.REVERSED_FIX)
        private.keep("exam-left-by-a-crash", item.tree, item.base_commit)
    assert json.loads(room.desk.read("gc", "--json"))["exam_items"] == 1
    with room.world() as deps:
        held = deps.repositories.private(deps.reader.project("code")).kept()
    assert set(held) == {keep_name(item.origin) for item in room.items()}
    assert room.diff(item), "what is asked can still be read"


@needs_sandbox
@pytest.mark.sandbox
def test_the_background_gives_way_to_a_command(room: ProvingRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    room.register()
    monkeypatch.setattr(queue, "_FIRST", 0.0)

    async def both(deps: Dependencies) -> dict[str, Any]:
        beside = asyncio.create_task(
            keep_preparing(deps, Storage(deps, lambda reason: None), asyncio.Event())
        )
        with deps.store.transaction() as tx:
            tx.set_meta(ACCEPTED, True)
        # It looks after every step of the background, whose next trial has only begun.
        while not deps.reader.exam_trials(1):
            await asyncio.sleep(0)
        assert deps.cpu_work.exam_lock.locked(), "the background is at work"
        found = await perform(deps, "exam.prepare", {"limit": 1})
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        return found

    with room.world() as deps:
        (made,) = asyncio.run(both(deps))["projects"]
    assert made["ended"] == "there are enough items" and made["faulty"] == made["clean"] > 0
    assert sum(count["known"] for count in made["sources"].values()) > 0, "what the background tried is known"
    items = room.items()
    assert len({item.origin for item in items}) == len(items) == 2 * made["faulty"]


def test_nothing_is_prepared_unasked(room: ProvingRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_FIRST", 0.0)
    asked: list[str] = []

    async def said_only(deps: Dependencies, project: Project, **_: Any) -> PreparedProject:
        asked.append(project.name)
        return PreparedProject(project=project.name)

    room.register()
    monkeypatch.setattr(making, "prepare_project", said_only)

    class WentThroughAll(BaseException):
        """It waits for a swap before it looks again."""

    class Swapped(asyncio.Event):
        async def wait(self) -> Any:
            raise WentThroughAll

    for accepted in (False, True):
        with room.world() as deps:
            with deps.store.transaction() as tx:
                tx.set_meta(ACCEPTED, accepted)
            with pytest.raises(WentThroughAll):
                asyncio.run(keep_preparing(deps, Storage(deps, lambda reason: None), Swapped()))
        assert bool(asked) is accepted
    room.config.write_text(f"{REHEARSAL}[exam]\nshare = 0.0\n", encoding="utf-8")
    asked.clear()
    with room.world() as deps:
        asyncio.run(keep_preparing(deps, Storage(deps, lambda reason: None), asyncio.Event()))
    assert not asked


@needs_sandbox
@pytest.mark.sandbox
def test_what_cannot_be_prepared_says_what_to_do(room: ProvingRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    room.register(check="")
    made = room.prepare()
    assert "no test command" in made.problem and "project check code" in made.hint
    assert "Nothing was prepared" in room.desk.read("exam", "prepare", codes=(3,))
    room.act("project.set", name="code", check="touch /tmp/never")
    absent = Sandbox(reason="no bubblewrap", hint="Install it.")
    with monkeypatch.context() as without:
        without.setattr("navigator.journey.checking.probe", lambda: absent)
        made = room.prepare()
    assert made.problem == "There is no sandbox: no bubblewrap." and made.hint == "Install it."
    room.act("project.set", name="code", check=CHECK)
    room.commit({"app.py": RENAMED.replace("x / 2", "x / 3")}, "Break it")
    made = room.prepare()
    assert "do not pass" in made.problem and "Repair them first" in made.hint and made.faulty == 0
    # Known faults never run unsandboxed.
    room.config.write_text(f"{REHEARSAL}[checks]\nunsandboxed = true\n", encoding="utf-8")
    assert "switched off" in room.prepare().problem


# Words


def file_diff(path: str, sign: str, section: str) -> FileDiff:
    hunk = Hunk("H1", 1, 1, 1, 1, section, (DiffLine("+" if sign == "+" else "-", "x", 1, 1),))
    return FileDiff("M", path, path, hunks=(hunk,))


def test_a_change_and_its_opposite_get_the_same_words() -> None:
    for paths in (["lib/a.py"], ["a/b.py", "a/c.py", "d/e.py", "f/g.py"]):
        away, back = (
            [file_diff(path, sign, "def parse(self, text):") for path in paths] for sign in ("-", "+")
        )
        assert neutral_words(away) == neutral_words(back)
        assert "`parse`" in neutral_words(away)[0]
