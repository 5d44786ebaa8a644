"""The report: one well-formed page that loads nothing, with names escaped and simulated figures named as such."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from navigator.config.paths import StatePaths
from navigator.figures.intervals import share
from navigator.model.states import Role
from navigator.sheet.report import rate_plot, report
from navigator.sheet.statistics.page import Question, RatePlot
from navigator.sheet.statistics.pages import PAGES
from navigator.store.database import open_reader, open_writer
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store
from tests.tui import world

EVIL = '"><script>alert(1)</script>\x1b]0;x\x07\u202e&amp;'


class Seen(HTMLParser):
    """Tags in balance, their attributes, and the text."""

    VOID = frozenset({"meta"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def written(paths: StatePaths) -> str:
    return report(Reader(open_reader(paths.database)), Question("kind"), written="now", period="all time")


@pytest.fixture
def paths(tmp_path_factory: pytest.TempPathFactory) -> StatePaths:
    return StatePaths(tmp_path_factory.mktemp("report") / "s").ensure()


def test_the_page_is_whole_and_loads_nothing(paths: StatePaths) -> None:
    world.fill(paths)
    page = written(paths)
    seen = Seen(page)
    assert not seen.tags & {"script", "link", "img", "iframe", "object", "image", "use", "foreignobject"}
    assert not {name for name, _ in seen.attributes if name.startswith("on") or name in ("src", "srcset")}
    targets = [value for name, value in seen.attributes if name in ("href", "xlink:href")]
    assert targets == [f"#{page.name}" for page in PAGES]
    assert "url(" not in page and "@import" not in page and "http:" not in page and "https:" not in page
    assert "prefers-color-scheme: dark" in page and "@media print" in page
    for words in ("Is the reviewer worth it?", "Is it getting better?", "What does it cost?", "[23–37]"):
        assert words in seen.text
    assert "svg" in seen.tags


def test_an_empty_store_has_no_figures(paths: StatePaths) -> None:
    open_writer(paths.database).close()
    seen = Seen(written(paths))
    for page in PAGES:
        assert page.missing.partition("`")[0].strip() in seen.text


def test_names_are_escaped_and_a_rehearsal_is_called_simulated(paths: StatePaths) -> None:
    store = Store(open_writer(paths.database, rehearsal=True))
    with store.transaction() as tx:
        project = tx.add_project(name="sample", path="/src/sample")
        task = tx.add_task(project.id, "Look")
        tx.end_call(tx.begin_call(Role.GENERATOR, task.id, 0, 0, "generate", model=EVIL))
    store.close()
    page = written(paths)
    seen = Seen(page)
    assert "script" not in seen.tags and not set("\x1b\x07\u202e") & set(page)
    assert "alert(1)" in seen.text
    assert "REHEARSAL: simulated; says nothing about a real model" in seen.text
    assert page.index('class="simulated"') < page.index("alert(1)")


def test_plots_hold_their_names_escaped_and_their_points_in_order() -> None:
    points = tuple((f"2026-11-{day:02}", share(k, 40)) for day, k in ((2, 20), (9, 10), (16, 4)))
    drawn = rate_plot(RatePlot(points, (("2026-11-09", EVIL), ("2025-01-01", "long ago"))))
    seen = Seen(drawn)
    assert "script" not in seen.tags and "alert(1)" in seen.text and "long ago" not in seen.text
    heights = [float(value) for name, value in seen.attributes if name == "cy"]
    assert heights == sorted(heights) and len(heights) == len(points)
    assert rate_plot(RatePlot((("2026-11-02", share(0, 0)),))) == ""
