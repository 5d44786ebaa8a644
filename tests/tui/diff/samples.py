"""Diffs, findings and comments to test with, and Hypothesis strategies that make more."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st
from textual import on
from textual.app import App, ComposeResult
from textual.message import Message

from navigator.git.diffs import parse_comparison
from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.model.models import Finding
from navigator.tui.diff.layout import FindingNote, LineComment, Mode
from navigator.tui.diff.view import DiffView
from navigator.tui.theme import DEFAULT_THEME, THEMES
from tests import records

PATCH = """\
diff --git a/OLD.md b/OLD.md
deleted file mode 100644
--- a/OLD.md
+++ /dev/null
@@ -1 +0,0 @@
-old words
diff --git a/billing/totals.py b/billing/totals.py
--- a/billing/totals.py
+++ b/billing/totals.py
@@ -3,7 +3,7 @@
 from __future__ import annotations

 from dataclasses import dataclass
-from decimal import Decimal
+from decimal import ROUND_HALF_EVEN, Decimal

 CENT = Decimal("0.01")

@@ -13,13 +13,14 @@ class Line:
     \"\"\"One line of an invoice.\"\"\"

     name: str
-    amount: float
+    amount: Decimal
     quantity: int = 1


 def total(lines):
     \"\"\"Sum of all lines, rounded.\"\"\"
-    return round(sum(line.amount for line in lines), 2)
+    amounts = [line.amount for line in lines]
+    return sum(amounts).quantize(CENT, ROUND_HALF_EVEN)


 def net(lines, vat):
@@ -49,6 +50,6 @@ def describe(line):
     \"\"\"A line for people: name, quantity and amount.\"\"\"
     # Names may be long, and this remark is longer than a narrow screen is wide, so that it has to be cut or wrapped.
     text = line.name
-    return text + str(line.amount)
+    return text + " " + str(line.amount)


diff --git a/config.json b/config.json
--- a/config.json
+++ b/config.json
@@ -1,4 +1,5 @@
 {
   "name": "請求書 🎉",
-  "rounding": "half-up"
-}
\\ No newline at end of file
+  "rounding": "half-even",
+  "currency": "EUR"
+}
diff --git a/tools/run.sh b/tools/run.sh
old mode 100644
new mode 100755
diff --git a/test_totals.py b/test_totals.py
new file mode 100644
--- /dev/null
+++ b/test_totals.py
@@ -0,0 +1,4 @@
+from billing.totals import total
+
+def test_total():
+\tassert total([]) == 0  # \x1b[31mred\x1b[0m \u202eevil
"""

_CHANGES = (
    ("D", "100644", "000000", "OLD.md"),
    ("M", "100644", "100644", "billing/totals.py"),
    ("M", "100644", "100644", "config.json"),
    ("M", "100644", "100755", "tools/run.sh"),
    ("A", "000000", "100644", "test_totals.py"),
)
_RAW = "".join(f":{old} {new} {'0' * 40} {'0' * 40} {sign}\0{path}\0" for sign, old, new, path in _CHANGES)
_BLANKS_KEPT = re.sub("(?m)^$", " ", PATCH.rstrip())
FILES = list(parse_comparison(f"{_RAW}\0{_BLANKS_KEPT}".encode()).files)


def finding(**changes: Any) -> Finding:
    """A grounded finding on line 23 of billing/totals.py."""
    message = "sum() of an empty list is int 0, which has no quantize: total([]) raises AttributeError."
    return records.finding(**{"hunk": "H3", "line": 23, "message": message} | changes)


FINDINGS = (
    FindingNote("major", finding(), "122B", 2, ("round 1 said the same about r1: not met",)),
    FindingNote(
        "task",
        finding(
            kind="missing",
            hunk="",
            path="",
            line=None,
            side="task",
            anchored=False,
            severity="minor",
            criterion="completeness",
            quote="mention it in the changelog",
            trigger="",
            message="The task asks for a changelog entry; there is none.",
        ),
        "122B",
        2,
    ),
    FindingNote(
        "nit", finding(line=13, severity="nit", criterion="safety", message="Say it twice.", trigger="")
    ),
)

COMMENTS = (
    LineComment("draft", "billing/totals.py", 26, "also fix net() please"),
    LineComment("sent", "config.json", 3, "why not half-down?", "old", "sent"),
)


class ViewApp(App[None]):
    """The view alone, under any of the themes, remembering what it says."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        files: Iterable[FileDiff],
        findings: Iterable[FindingNote] = (),
        comments: Iterable[LineComment] = (),
        *,
        mode: Mode = "unified",
        theme: str = DEFAULT_THEME,
    ) -> None:
        super().__init__()
        for known in THEMES:
            self.register_theme(known)
        self.theme = theme
        self.view = DiffView(mode=mode)
        self.view.show(tuple(files), tuple(findings), tuple(comments))
        self.said: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.view

    @on(DiffView.ContextAsked)
    def remember(self, message: Message) -> None:
        self.said.append(message)

    def heard(self, kind: type[Message]) -> list[Any]:
        return [message for message in self.said if isinstance(message, kind)]


def sample_app(**options: Any) -> ViewApp:
    return ViewApp(FILES, FINDINGS, COMMENTS, **options)


def screen_text(view: DiffView) -> list[str]:
    """The lines of the screen as text."""
    return [view.render_line(y).text for y in range(view.size.height)]


def all_text(view: DiffView) -> list[str]:
    """Every line of the view as text, whatever is scrolled into sight, headers that stay left out."""
    painter, layout = view._painter, view._layout
    assert painter is not None
    lines = []
    for y in range(layout.total):
        index, sub = layout.at(y)
        lines.append(painter.strip(layout.rows[index], sub, layout.height(index)).text)
    return lines


# Text of every awkward sort: plain, wide, combining, tabs, escapes, bidi, zero-width, lone surrogates.
TEXT = st.one_of(
    st.text(st.sampled_from("abc xyz(){}=+-_"), max_size=60),
    st.text(st.sampled_from("a\t日本🎉e\u0301\ufe0f\u200d\u202e\x1b\x9b\x00\r\ud800—é"), max_size=40),
    st.text(max_size=20).map(lambda text: text.replace("\n", "")),
)


@st.composite
def hunks(draw: st.DrawFn, label: str, old: int, new: int) -> Hunk:
    """A hunk as git would write it: in every change the removed lines before the added ones."""
    lines: list[DiffLine] = []
    old_start, new_start = old, new
    for context, removed, added in draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4)
    ):
        for kind, count in ((" ", context), ("-", removed), ("+", added)):
            for _ in range(count):
                stands_old, stands_new = kind != "+", kind != "-"
                lines.append(
                    DiffLine(kind, draw(TEXT), old if stands_old else None, new if stands_new else None)  # type: ignore[arg-type]
                )
                old += stands_old
                new += stands_new
    return Hunk(label, old_start, old - old_start, new_start, new - new_start, draw(TEXT), tuple(lines))


@st.composite
def diffs(draw: st.DrawFn) -> list[FileDiff]:
    """Up to three files of up to three hunks."""
    files: list[FileDiff] = []
    label = 0
    for place in range(draw(st.integers(0, 3))):
        path = f"file_{place}.py"
        made: list[Hunk] = []
        old = new = draw(st.integers(1, 30))
        for _ in range(draw(st.integers(0, 3))):
            label += 1
            hunk = draw(hunks(f"H{label}", old, new))
            made.append(hunk)
            gap = draw(st.integers(1, 40))
            old = hunk.old_start + hunk.old_count + gap
            new = hunk.new_start + hunk.new_count + gap
        files.append(FileDiff(draw(st.sampled_from("MAD")), path, path, hunks=tuple(made)))
    return files


@st.composite
def comments_on(draw: st.DrawFn, files: list[FileDiff]) -> list[LineComment]:
    """Comments on lines that exist, that do not, and on files that do not."""
    made: list[LineComment] = []
    for place in range(draw(st.integers(0, 4))):
        path = draw(st.sampled_from([file.path for file in files] + ["absent.py"]))
        line = draw(st.one_of(st.none(), st.integers(1, 60)))
        side = draw(st.sampled_from(["new", "old"]))
        made.append(LineComment(f"c{place}", path, line, draw(TEXT), side))  # type: ignore[arg-type]
    return made
