"""A state folder whose proposals are real: a real repository, real trees in the private one, the store's own writer."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from copy import copy
from datetime import timedelta
from pathlib import Path

from navigator.config.paths import StatePaths
from navigator.git.private import FileChange, PrivateRepo
from navigator.model.models import Project
from navigator.model.states import TaskState, Verdict
from navigator.store.database import open_writer
from tests.journey.support import git, make_repository
from tests.records import finding
from tests.tui import world
from tests.tui.world import Maker

TOTALS = '''\
"""Totals of an invoice."""

from decimal import Decimal

CENT = Decimal("0.01")


class Line:
    """One line of an invoice."""

    def __init__(self, name, amount):
        self.name = name
        self.amount = amount


def first(lines):
    """The first line, if there is one."""
    return lines[0] if lines else None


def total(lines):
    """What all lines come to."""
    return round(sum(line.amount for line in lines), 2)


def net(lines, vat):
    """The total without the tax."""
    return total(lines) / (1 + vat)


def describe(line):
    """A line for people."""
    return line.name + " " + str(line.amount)


def count(lines):
    """How many lines there are."""
    return len(lines)
'''

ROUND_1 = TOTALS.replace(
    "from decimal import Decimal", "from decimal import ROUND_HALF_EVEN, Decimal"
).replace(
    "    return round(sum(line.amount for line in lines), 2)\n",
    "    amounts = [Decimal(line.amount) for line in lines]\n"
    "    return sum(amounts).quantize(CENT, ROUND_HALF_EVEN)\n",
)
ROUND_2 = ROUND_1.replace("sum(amounts)", "sum(amounts, start=Decimal())").replace(
    "total(lines) / (1 + vat)", "(total(lines) / (1 + vat)).quantize(CENT)"
)
PYPROJECT = '[project]\nname = "billing"\nversion = "1.0"\n'
FILES = {
    "billing/totals.py": TOTALS,
    "billing/__init__.py": "",
    "README.md": "# Billing\n\nTotals of invoices.\n",
    "pyproject.toml": PYPROJECT,
    "Makefile": "test:\n\tpytest\n",
}

Q0 = "    return sum(amounts).quantize(CENT, ROUND_HALF_EVEN)"


class Reviewing:
    """The folder, and words for what a test needs to know of it."""

    def __init__(self, paths: StatePaths, folder: Path) -> None:
        self.paths = paths
        self.repository = make_repository(
            folder / "billing", {name: text.encode() for name, text in FILES.items()}
        )
        self.base = git(self.repository, "rev-parse", "HEAD")
        with world.written(paths) as make:
            self._fill(make)

    def copied(self, folder: Path) -> Reviewing:
        """The same in another folder, with a database, a repository and trees of its own."""
        made = copy(self)
        shutil.copytree(self.repository.parent, folder, symlinks=True, dirs_exist_ok=True)
        made.paths, made.repository = StatePaths(folder / "s"), folder / "billing"
        with closing(open_writer(made.paths.database)) as connection, connection:
            connection.execute("UPDATE projects SET path = ?", (str(made.repository),))
        return made

    def _tree(self, changes: dict[str, str | None], mode: str | None = None) -> str:
        content = {
            path: FileChange(None if text is None else text.encode(), mode) for path, text in changes.items()
        }
        tree = self.private.write_tree(self.base, content)
        self.private.keep(f"t-{tree[:12]}", tree, self.base)
        return tree

    def _fill(self, make: Maker) -> None:
        tx, clock = make.tx, make.clock
        clock.ago(days=1)
        self.project = tx.add_project(name="billing", path=str(self.repository), root_commit=self.base)
        self.private = PrivateRepo.open(self.paths.private, self.project)
        self.private.pin_base(self.base)
        clock.ago(hours=3)
        self._revised(make, self.project)
        clock.ago(hours=2)
        readme = self._tree({"README.md": "# Billing\n\nTotals of invoices, rounded half-even.\n"})
        self._waiting(
            make, "Say in the README how totals are rounded", readme, ("README.md",), added=1, removed=1
        )
        clock.ago(hours=1)
        paths = ("Makefile", "pyproject.toml")
        made = self._tree({paths[0]: "test:\n\tpytest -q\n", paths[1]: PYPROJECT + "license = 'MIT'\n"})
        policy = [("makefile", "Makefile"), ("packaging", "pyproject.toml")]
        self._waiting(make, "Quieter tests", made, paths, added=2, removed=1, policy=policy)
        clock.ago(minutes=50)
        tested = self._tree({"billing/rounding.py": "HALF_EVEN = True\n"})
        self._waiting(make, "Name the rounding mode", tested, ("billing/rounding.py",), added=1, removed=0)

    def _revised(self, make: Maker, project: Project) -> None:
        """A task with two rounds: the second answers the first, and the reviewer still says REVISE."""
        task = make.task(project, "Round half-even in totals\n\nAs the auditors ask. Keep net() right.")
        make.to(task, TaskState.GENERATING, TaskState.CHECKING)
        place = "billing/totals.py"
        tree = self._tree({place: ROUND_1})
        first = make.propose(task, 3, 2, paths=(place,), tree=tree, base=self.base)
        make.to(task, TaskState.AWAITING_REVIEW, TaskState.REVIEWING)
        make.tx.set_batch([first.id], "2026-11-20-a")
        asked = finding(
            message="sum() of an empty list is int 0, which has no quantize: total([]) raises AttributeError.",
            quote=Q0,
            line=24,
            hunk="H2",
        )
        make.review(first, Verdict.REVISE, [asked])
        make.tx.set_task_state(task.id, TaskState.REVISING, round=1)
        make.to(task, TaskState.GENERATING, TaskState.CHECKING)
        tree = self._tree({place: ROUND_2})
        paths = (place, "pyproject.toml")
        second = make.propose(task, 4, 3, round=1, paths=paths, tree=tree, base=self.base)
        make.to(task, TaskState.AWAITING_REVIEW, TaskState.REVIEWING)
        make.tx.set_batch([second.id], "2026-11-20-a")
        net = "    return (total(lines) / (1 + vat)).quantize(CENT)"
        nit = finding(
            message="The rounding mode of net() is not said.",
            severity="nit",
            hunk="H2",
            quote="",
            line=None,
            anchored=False,
        )
        divided = finding(
            message="Decimal cannot be divided by a float: net() raises TypeError for vat=0.19.",
            quote=net,
            line=29,
            hunk="H3",
            trigger="net() is called with a float, as every caller does",
        )
        make.review(second, Verdict.REVISE, [divided, nit])
        make.to(task, TaskState.AWAITING_APPROVAL)
        self.task, self.first, self.second = task.id, first.id, second.id

    def _waiting(self, make: Maker, title: str, tree: str, paths: tuple[str, ...], **more: object) -> None:
        make.waiting(self.project, title, paths=paths, tree=tree, base=self.base, **more)
        make.clock.moment += timedelta(seconds=1)

    def branch(self, name: str = "navigator/2026-11-20") -> str:
        """The commit of a branch, or ""."""
        listed = git(self.repository, "for-each-ref", "--format=%(objectname)", f"refs/heads/{name}")
        return listed.strip()


def editor_script(folder: Path, body: str) -> Path:
    """An "editor": a shell script that does `body` with the file as its last argument."""
    script = folder / "fake-editor"
    script.write_text(f"#!/bin/sh\nfor file; do :; done\n{body}\n")
    script.chmod(0o755)
    assert os.access(script, os.X_OK)
    return script
