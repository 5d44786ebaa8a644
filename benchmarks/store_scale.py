"""What 100,000 proposals cost: every statistic, and the deck's first snapshot, against counting one table's rows.

    python benchmarks/store_scale.py [--tiny | --full] [PROPOSALS]

Every fourth proposal is the revision of the one before. Each has a review and three model calls, a third are the simulated
ones of a rehearsal, 900 tasks are still open, and the rest landed or were rejected earlier. Two swaps and a batch come with 30
proposals, an exam with 400 items, and a test with every tenth finding. Reference (= 1): `SELECT count(*)` over every row of
`proposals` in the same database, its rows read, by plain sqlite3. The least of five runs is taken for each, of the wall's time
and of the process's.
The deck's first picture is measured from the start of a process until its terminal shows a proposal of the store.
Aims at 100,000: every statistic below one second, the deck's first picture below half a second.
"""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tui_startup import OURS, first_paint

from benchmarks.size import sized

PROPOSALS = sized(400, 10_000, 100_000)
OPEN = sized(100, 1_200, 1_200)
"""Newest proposals without a decision: revisions apart, those of 900 tasks."""
ROUNDS = sized(1, 5, 5)
PROJECTS = 24
_EDITS = '[{"path":"src/thing/module.py","rung":"exact"},{"path":"tests/test_module.py","rung":"%s"}]'
_CHECKS = (
    '[{"name":"syntax","outcome":"passed","seconds":0.1,"detail":"","before":null},'
    '{"name":"tests","outcome":"passed","seconds":9.5,"detail":"214 passed","before":"passed"}]'
)
_FINDING = (
    '[{"kind":"wrong","hunk":"H1","path":"src/thing/module.py","line":12,"quote":"return total","severity":"major",'
    '"criterion":"correctness","trigger":"an empty list","message":"an empty list has no total","anchored":true,'
    '"side":"new","remark":false}]'
)
_USAGE = '{"prompt_tokens":9000,"completion_tokens":800,"cached_tokens":7000,"seconds":9.5}'


def fill(database: Path, proposals: int) -> None:
    """Write the rows straight into the tables; the triggers come back when the store is opened next."""
    from navigator.store.database import open_writer

    open_writer(database).close()
    with closing(sqlite3.connect(database)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        connection.executemany(
            "INSERT INTO projects (id, name, path) VALUES (?, ?, ?)",
            [(number, f"project-{number}", f"/src/{number}") for number in range(1, PROJECTS + 1)],
        )
        for table, rows in _rows(proposals).items():
            first = next(rows)
            marks = ", ".join("?" * len(first))
            names = ", ".join(f'"{name}"' for name in first)
            statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"
            connection.execute(statement, tuple(first.values()))
            connection.executemany(statement, (tuple(row.values()) for row in rows))
        connection.commit()
    open_writer(database).close()


def _rows(proposals: int) -> dict[str, Iterator[dict[str, object]]]:
    random.seed(7)
    start = datetime(2026, 1, 5, tzinfo=UTC)
    step = timedelta(days=300) / proposals
    answer = zlib.compress(random.randbytes(900))

    def at(number: int, seconds: float = 0.0) -> str:
        moment = start + number * step + timedelta(seconds=seconds)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def is_open(number: int) -> bool:
        return number > proposals - OPEN

    def verdict(number: int) -> str:
        return ("REVISE", "APPROVE", "APPROVE", "APPROVE" if number % 40 else "UNREVIEWED")[number % 4]

    def round_of(number: int) -> int:
        return int(number % 4 == 1 and number > 1)

    def revised(number: int) -> bool:
        return number % 4 == 0 and number < proposals

    def task_of(number: int) -> int:
        return number - round_of(number)

    def landed(number: int) -> bool:
        return not revised(number) and not is_open(number) and number % 3 != 2

    numbers = range(1, proposals + 1)
    kinds = ("implement", "fix", "refactor", "test", "docs")
    return {
        "tasks": (
            {
                "id": number,
                "project_id": number % PROJECTS + 1,
                "text": f"Make the thing number {number} right\n" + "and mind its neighbours. " * 12,
                "kind": kinds[number % 5],
                "complexity": ("simple", "medium", "complex")[number % 3],
                "state": "awaiting_approval"
                if is_open(number)
                else ("landed", "landed", "rejected")[number % 3],
                "created": at(number),
                "updated": at(number, 60),
                "since": at(number, 60),
            }
            for number in numbers
            if not round_of(number)
        ),
        "proposals": (
            {
                "id": number,
                "task_id": task_of(number),
                "attempt": 0,
                "round": round_of(number),
                "state": "superseded"
                if revised(number)
                else "open"
                if is_open(number)
                else ("landed", "landed", "decided")[number % 3],
                "base_commit": "b" * 40,
                "tree": f"{number:040x}",
                "written_by": "generator",
                "title": f"Thing {number}",
                "summary": "What was changed and why, in a sentence or two. " * 4,
                "edits": _EDITS % ("exact" if number % 5 else "indent"),
                "checks": _CHECKS,
                "added": number % 200,
                "removed": number % 70,
                "tests": ("passed", "failed", "passed")[number % 3],
                "prompt_version": f"generate@{number // 34_000}",
                "model": "35B",
                "usage": _USAGE,
                "created": at(number, 10),
            }
            for number in numbers
        ),
        "reviews": (
            {
                "proposal_id": number,
                "role": "reviewer",
                "counted": 1,
                "verdict": verdict(number),
                "stated_verdict": verdict(number + (number % 9 == 0)),
                "findings": _FINDING if verdict(number) == "REVISE" else "[]",
                "asked": int(verdict(number) == "REVISE"),
                "met": round_of(number),
                "prompt_version": f"review@{number // 40_000}",
                "model": "122B",
                "usage": _USAGE,
                "at": at(number, 30),
            }
            for number in numbers
        ),
        "decisions": (
            {
                "proposal_id": number,
                "kind": ("approve", "approve", "reject")[number % 3],
                "tree": f"{number:040x}",
                "at": at(number, 60),
            }
            for number in numbers
            if not is_open(number) and not revised(number)
        ),
        "landings": (
            {"proposal_id": number, "state": "landed", "commit": f"{number:040x}", "at": at(number, 70)}
            for number in numbers
            if landed(number)
        ),
        "fates": (
            {
                "proposal_id": number,
                "commit": f"{number:040x}",
                "fate": "kept" if number % 50 else "reverted",
                "at": at(number, 9000),
            }
            for number in numbers
            if landed(number)
        ),
        "reproductions": (
            {
                "proposal_id": number,
                "review_id": number,
                "finding": 0,
                "outcome": ("regression", "unmet", "not_reproduced")[number % 3],
                "severity": "major",
                "criterion": "correctness",
                "at": at(number, 40),
            }
            for number in numbers
            if number % 40 == 0
        ),
        "exam_items": (
            {
                "id": number,
                "project_id": number % PROJECTS + 1,
                "source": ("reversed_fix", "clean")[number % 2],
                "faulty": int(number % 4 < 2),
                "origin": f"item {number}",
                "text": "Make it right",
                "kind": "fix",
                "base_commit": "b" * 40,
                "tree": f"{number:040x}",
                "changed_lines": number,
                "created": at(1),
            }
            for number in range(1, 401)
        ),
        "exam_answers": (
            {
                "item_id": number,
                "verdict": "REVISE" if (number % 4 < 2 and number % 9) or number % 11 == 0 else "APPROVE",
                "prompt_version": f"review@{version}",
                "model": "122B",
                "usage": _USAGE,
                "at": at(version * 40_000 + number),
            }
            for version in range(3)
            for number in range(1, 401)
        ),
        "calls": (
            {
                "role": "reviewer" if turn == 2 else "generator",
                "task_id": task_of(number),
                "purpose": ("generate", "repair", "review")[turn],
                "model": "122B" if turn == 2 else "35B",
                "outcome": "ok" if number % 50 else "failed",
                "prompt_tokens": 9000,
                "completion_tokens": 800,
                "cached_tokens": 7000,
                "seconds": 40.0,
                "busy": 40.0,
                "started": at(number, 10 * turn),
                "ended": at(number, 10 * turn + 40),
                "answer": answer,
            }
            for number in numbers
            for turn in range(3)
        ),
        "edit_failures": (
            {
                "task_id": task_of(number),
                "attempt": 0,
                "round": round_of(number),
                "code": "NO_MATCH" if number % 20 else "AMBIGUOUS",
                "path": "a.py",
                "at": at(number, 12),
            }
            for number in numbers
            if number % 10 == 0
        ),
        "swaps": (
            {
                "from_role": "generator" if number % 2 else "reviewer",
                "to_role": "reviewer" if number % 2 else "generator",
                "strategy": "systemd",
                "started": at(15 * number),
                "phases": '[{"name":"drain","seconds":0.4},{"name":"load","seconds":30.5}]',
                "seconds": 31.0 + number % 11,
                "outcome": "done" if number % 60 else "failed",
            }
            for number in range(1, max(3, proposals // 15))
        ),
    }


def best(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the wall and of this process, each of its fastest run."""
    taken = []
    for _ in range(ROUNDS):
        began, cpu = time.perf_counter(), time.process_time()
        work()
        taken.append((time.perf_counter() - began, time.process_time() - cpu))
    return min(wall for wall, _ in taken), min(cpu for _, cpu in taken)


def first_picture(state: Path) -> tuple[float, float]:
    """Seconds of the wall and of the process until the deck shows a proposal, each of the fastest start."""
    os.environ |= {
        "NAVIGATOR_STATE": str(state),
        "XDG_CONFIG_HOME": str(state / "none"),
        "COLORTERM": "truecolor",
    }
    taken = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall = first_paint(OURS, b"Thing")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append((wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return min(wall for wall, _ in taken), min(cpu for _, cpu in taken)


def main() -> None:
    """Print one line per measure: seconds, and how many times the reference."""
    from navigator.figures.page import PageQuestion
    from navigator.figures.pages import PAGES
    from navigator.sheet.waiting import tips
    from navigator.store.database import open_reader
    from navigator.store.reads.cards import CardReads
    from navigator.store.reads.reader import Reader

    proposals = int(sys.argv[1]) if len(sys.argv) > 1 else PROPOSALS
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "navigator.db"
        fill(database, proposals)
        size = database.stat().st_size / 1e6
        with closing(open_reader(database)) as connection:
            reader, cards = Reader(connection), CardReads(connection)
            reference, _ = best(
                lambda: connection.execute(
                    "SELECT count(*) FROM proposals WHERE length(usage) > 0"
                ).fetchone()
            )
            print(f"{proposals:,} proposals, {size:,.0f} MB; reference {reference:.4f} s")
            for page in PAGES:
                _tell(
                    f"stats {page.name}", best(lambda page=page: page.read(reader, PageQuestion())), reference
                )  # type: ignore[misc]
            rates = next(page for page in PAGES if page.name == "reviewer")
            week = PageQuestion(since="2026-10-25T00:00:00.000Z", by="project")
            _tell("stats revise-rate, by project, a week", best(lambda: rates.read(reader, week)), reference)
            _tell(
                "deck: first snapshot", best(lambda: (cards.cards("2026-11-01"), reader.counts())), reference
            )
            _tell("deck: first picture", first_picture(Path(folder)), reference)
            _tell("deck: where the bases are", best(lambda: tips(reader)), reference)
            _tell("one task's open proposals", best(lambda: reader.proposals(task_id="T77")), reference)


def _tell(name: str, taken: tuple[float, float], reference: float) -> None:
    wall, cpu = taken
    print(f"{name:<40} {wall:8.4f} s  cpu {cpu:7.4f} s  {wall / reference:7.2f} times the reference")


if __name__ == "__main__":
    main()
