"""The account of a night: what it says of nights that went well, badly or oddly, on one screen and on one page."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.engine.acting import report_page
from navigator.model.text import is_unsafe
from navigator.sheet.account import HEIGHT, WIDTH, Account, account, folded, lines, newest_night, table
from navigator.sheet.waiting import waiting
from navigator.store.database import open_reader, open_writer
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store
from tests.sheet import nights
from tests.tui import world
from tests.tui.world import Maker

KEY = "ghp_" + "R4nD0mT0k3nOfAP3rs0nW1thSh4red1234ab"


def text_of(page: str) -> str:
    """What a browser shows of it."""
    return unescape(re.sub(r"<[^>]*>", "", page))


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    return StatePaths(tmp_path / "s").ensure()


def told(paths: StatePaths, night: Callable[[Maker], None]) -> tuple[Account, list[str], str]:
    """The account of a night, as a terminal of 80×24 shows it, and as a page."""
    nights.made(paths, night)
    reader = Reader(open_reader(paths.database))
    found = account(reader, nights.SINCE)
    shown = lines(folded(found))
    assert len(shown) <= HEIGHT and all(len(line) <= WIDTH for line in shown)
    assert sum(found.waits.values()) == len(waiting(reader))
    return found, shown, report_page(paths, reader, nights.SINCE, lambda problem: None)


def test_an_ordinary_night_says_what_was_done_what_waits_and_what_it_cost(paths: StatePaths) -> None:
    found, shown, page = told(paths, nights.ordinary)
    said = " ".join(" ".join(shown).split())
    assert shown[0] == "WHAT HAPPENED SINCE FRIDAY 20 NOVEMBER 23:10?"
    assert "waits 6, ~6 min to read: 4 APPROVE, 1 REVISE, 1 NO CHANGE; one batch approval covers 4" in said
    assert "done 7 tasks in 5 projects: 5 for you, 1 need no change, 1 landed" in said
    assert "aurora-api: 1 for you, 1 landed. Retry with jitter; Name the co…" in said
    assert "prevented 1 finding with a failing test, repaired in time" in said
    assert "P1 atlas-web billing/totals.py: total([]) raises" in said
    assert "cost 1 swap, 43 s; 13,000 tokens; the models worked for 60 s" in said
    assert found.troubles == () and "went wrong" not in said
    assert "P1 atlas-web billing/totals.py: total([]) raises" in text_of(page)


def test_a_large_night_is_folded_on_a_screen_and_whole_on_the_page(paths: StatePaths) -> None:
    found, shown, page = told(paths, nights.large)
    said = " ".join(" ".join(shown).split())
    assert "done 61 tasks in 24 projects: 61 for you" in said and len(shown) == 18
    named = [name for name in world.NAMES if f" {name}: " in said]
    left = 24 - len(named)
    assert 2 < len(named) < 24 and f"and {left} other projects: " in said
    wide = lines(folded(found, width=200), 200)
    assert max(map(len, shown)) <= 80 < max(map(len, wide)) <= 200, "a wide screen cuts less"
    text = text_of(page)
    assert all(f"{name}: " in text for name in world.NAMES)
    assert all(f"Change number {number} of some" in text for number in range(61))
    assert found.batch == 41 and f"covers {found.batch} of them" in said


def test_a_night_that_failed_says_what_went_wrong_and_what_to_do(paths: StatePaths) -> None:
    found, shown, page = told(paths, nights.failed)
    said = " ".join(" ".join(shown).split())
    for words in (
        "02:00 T5 cartographer, T6 cartographer, T7 cartographer and 2 more: failed: NO_MATCH in build/rules.mk",
        "`navigator task retry T5` tries again",
        "03:00 the reviewer's server died: out_of_memory CUDA out of memory (until 03:02)",
        "03:10 the reviewer is disabled after repeated failures: its server died 3 times; Segmentation fault → its"
        " tasks stay queued; `navigator swap to reviewer` tries again",
        "04:00 disk full (12 MB free): no new work is started → `navigator doctor` says where",
    ):
        assert words in said, said
    whole = text_of(page)
    for words in (
        "01:00 P2 atlas-web, P3 aurora-api, P4 billing: failed check: tests → `navigator diff P2` shows it",
        "does not answer. Start it. (2 times) → `navigator doctor` looks at it",
        "the swap to the reviewer failed: load: no answer within 900 s → `navigator swap log`",
    ):
        assert words in whole, words
    assert all(one.to_do for one in found.troubles)
    assert [one.tasks for one in found.troubles] == [0, 0, 0, 0, 3, 5, 0] and found.troubles[-1].over


def test_hostile_names_and_messages_stay_text(paths: StatePaths) -> None:
    found, shown, page = told(paths, nights.hostile)
    assert not any(is_unsafe(line) for line in shown)
    assert not any(is_unsafe(words) for words in lines(table(found)))
    assert "<script" not in page and page.count(escape("<script>alert(1)</script>")) > 5
    assert not set("\x1b\x07\u202e") & set(page) and "url(" not in page and "@import" not in page
    assert "default-src 'none'" in page


def test_a_secret_does_not_get_onto_the_page(paths: StatePaths) -> None:
    def night(make: Maker) -> None:
        (project,) = nights.projects(make, ["one"])
        make.waiting(project, f"Use {KEY}")

    _, _, page = told(paths, night)
    assert KEY not in page and "[redacted: a GitHub token]" in page


def test_wide_characters_count_twice(paths: StatePaths) -> None:
    def night(make: Maker) -> None:
        make.tx.event("server_problem", data={"role": "generator", "problem": "動きません" * 20})

    _, shown, _ = told(paths, night)
    wide = [line for line in shown if "動" in line]
    assert len(wide) > 1 and all(
        len(line) + sum(char in "動きません" for char in line) <= WIDTH for line in wide
    )


def test_the_newest_night_ends_with_the_run(paths: StatePaths) -> None:
    store = Store(open_writer(paths.database))
    assert newest_night(store.read) > world.stamp(nights.EVENING)
    store.close()
    nights.made(paths, nights.ordinary)
    reader = Reader(open_reader(paths.database))
    assert newest_night(reader)[:10] == "2026-11-19"
    assert account(reader).since == newest_night(reader)
    store = Store(open_writer(paths.database))
    with store.transaction() as tx:
        tx.set_meta("until", "idle")
    assert newest_night(store.read)[:10] > "2026-11-20"
    store.close()


def test_an_empty_store_has_nothing_to_tell(paths: StatePaths) -> None:
    found, shown, page = told(paths, lambda make: None)
    said = " ".join(" ".join(shown).split())
    assert "waits Nothing waits for you." in said and "done Nothing." in said and found.cost.tokens == 0
    assert "Nothing waits for you." in text_of(page)


def test_a_rehearsals_page_is_called_simulated(paths: StatePaths) -> None:
    open_writer(paths.database, rehearsal=True).close()
    page = report_page(paths, Reader(open_reader(paths.database)), "", lambda problem: None)
    assert "REHEARSAL: simulated; says nothing about a real model" in text_of(page)
