"""Compose: one task for one, several or all projects. What is typed is kept as a draft."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cached_property, partial

from textual import work
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import TextArea

from navigator.actions.task_add import AddTasks
from navigator.config.paths import config_path
from navigator.model.errors import NavigatorError
from navigator.model.models import Project
from navigator.model.states import Complexity, TaskKind
from navigator.model.text import safe_line
from navigator.tui.compose.sheet import (
    BUILT_IN,
    DRAFT_KEY,
    TEMPLATES,
    VARIANTS,
    BaseFiles,
    Sheet,
    look_at,
    read_templates,
    shortened,
)
from navigator.tui.data.deck_snapshot import DeckSnapshot
from navigator.tui.data.prefs import DraftKeeper
from navigator.tui.dialogs.pick import PickDialog
from navigator.tui.messages import ComposeFor
from navigator.tui.terminal import open_in_editor
from navigator.tui.verbs import perform
from navigator.tui.widgets.cells import Piece, clip, cropped, fit
from navigator.tui.widgets.page import PieceLines
from navigator.tui.widgets.panels import Editor
from navigator.tui.widgets.screen import NavScreen
from navigator.tui.work import begin

_LABEL = 12
_KEY = 9


class ComposeScreen(NavScreen):
    """Opened with `ComposeFor`. The draft survives the screen, the terminal and a restart."""

    SCOPE = "compose"
    TITLE = "compose"
    CSS_PATH = "compose.tcss"
    AUTO_FOCUS = "#text"

    def __init__(self) -> None:
        super().__init__()
        self._sheet = Sheet()
        self._bases: dict[str, BaseFiles] = {}
        self._looking: set[str] = set()
        self._restored = False
        self._wanted: ComposeFor | None = None

    @cached_property
    def drafts(self) -> DraftKeeper:
        """Where what is typed goes."""
        return DraftKeeper(self.app.link.request, lambda told: self.app.toast(told, "warning"))

    def compose_body(self) -> ComposeResult:
        """Projects, kind, files; warnings; the text."""
        yield PieceLines(id="facts")
        yield PieceLines(most=4, id="warnings")
        yield Editor(
            placeholder="What needs to be done? The first line becomes the subject of the commit.",
            id="text",
        )

    def on_mount(self) -> None:
        """Restore the draft."""
        self.query_one("#facts", PieceLines).show(self._facts)
        self.query_one("#warnings", PieceLines).show(self._warnings)
        self._restore()

    async def on_unmount(self) -> None:
        """Keep it."""
        await self.drafts.close()

    @property
    def editor(self) -> Editor:
        """The text."""
        return self.query_one("#text", Editor)

    @property
    def sheet(self) -> Sheet:
        """Everything on the screen now."""
        return replace(self._sheet, text=self.editor.text)

    @work(exclusive=True, group="restore")
    async def _restore(self) -> None:
        try:
            held = (await self.app.feed.read(lambda reader: reader.drafts(DRAFT_KEY))).get(DRAFT_KEY, "")
        except NavigatorError as error:
            self.app.toast(str(error), "warning")
            held = ""
        self.drafts.seed(DRAFT_KEY, held)
        found = Sheet.from_draft(held)
        if found.text and not self.editor.text:
            self.editor.load_text(found.text)
            self.editor.move_cursor(self.editor.document.end)
        self._restored = True
        self._change(replace(found, text=""))
        if self._wanted is not None:
            self._begin(self._wanted)

    def receive(self, request: Message) -> None:
        """Write for these projects. A text that is already there stays."""
        if not isinstance(request, ComposeFor):
            return
        self._wanted = request
        if self._restored:
            self._begin(request)

    def _begin(self, request: ComposeFor) -> None:
        self._wanted = None
        if request.projects:
            self._change(replace(self._sheet, projects=request.projects))
        if request.text and request.text not in self.editor.text:
            held = self.editor.text.rstrip()
            self.editor.put(f"{held}\n\n{request.text}" if held else request.text)
        self.editor.focus()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep what is typed."""
        if self._restored:
            self._keep()

    def _keep(self) -> None:
        self.drafts.keep(DRAFT_KEY, self.sheet.draft())

    def _change(self, sheet: Sheet) -> None:
        """Another kind, other projects, other files."""
        self._sheet = replace(sheet, text="")
        self._redraw()
        if self._restored:
            self._keep()
        self._look()

    def _redraw(self) -> None:
        for lines in self.query(PieceLines):
            lines.refresh(layout=True)

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """Projects came or went."""
        self._redraw()
        self._look()

    # Above the text

    def _facts(self, width: int) -> list[list[Piece]]:
        sheet, total = self._sheet, len(self.app.snapshot.projects)
        count = len(sheet.projects)
        names = "all projects" if count > 1 and count == total else shortened(sheet.projects, 5)
        words = names or (
            "choose one or more projects" if total else "no projects yet; press + on the deck to add some"
        )
        return [
            self._fact("for", words, "projects", width, f"{count} of {total}" if count > 1 else ""),
            self._fact("kind", sheet.kind.value, "kind", width),
            self._fact("complexity", sheet.complexity.value, "complexity", width),
            self._fact(
                "priority", f"{sheet.priority:+d}" if sheet.priority else "normal", "more_urgent", width
            ),
            self._fact(
                "variants",
                f"{sheet.variants}, by {sheet.vary.value}" if sheet.variants > 1 else "one proposal",
                "variants",
                width,
            ),
            self._fact("after", shortened(sheet.after, 6) or "no other task", "after", width),
            self._fact("files", shortened(sheet.files, 4) or "found automatically", "files", width),
        ]

    def _fact(self, label: str, value: str, action: str, width: int, more: str = "") -> list[Piece]:
        """`for  ctrl+o  billing`: what, the key that changes it, and what it is now."""
        return cropped(
            [
                (fit(label, _LABEL), "muted"),
                (fit(self.app.keymap.shown(f"compose.{action}"), _KEY), "accent"),
                (value, "strong" if label == "for" else ""),
                (f"  {more}" if more else "", "muted"),
            ],
            width,
        )

    def _warnings(self, width: int) -> list[list[Piece]]:
        lines: list[list[Piece]] = []
        for name in self._sheet.projects:
            base = self._bases.get(name)
            if base is None:
                continue
            if base.problem:
                lines.append([("⚠ ", "bad"), (f"{name}: {base.problem}", "")])
            elif base.uncommitted:
                number = len(base.uncommitted)
                changes = f"uncommitted in {name}, not included ({number}): "
                lines.append([("⚠ ", "warn"), (changes, "warn"), (shortened(base.uncommitted, 3), "muted")])
        return [[], *(cropped(line, width) for line in lines)] if lines else []

    def _look(self) -> None:
        """Read the chosen projects that were not read yet."""
        missing = [n for n in self._sheet.projects if n not in self._bases and n not in self._looking]
        known = {row.name: row.project for row in self.app.snapshot.projects}
        projects = [known[name] for name in missing if name in known]
        if projects:
            self._looking.update(project.name for project in projects)
            begin(self, partial(self._look_at, projects), group="look")

    async def _look_at(self, projects: list[Project]) -> None:
        for project in projects:
            try:
                self._bases[project.name] = await asyncio.to_thread(look_at, project)
            finally:
                self._looking.discard(project.name)
            self._redraw()

    async def _flush(self) -> None:
        await self.drafts.flush()

    def on_screen_suspend(self) -> None:
        """Save the draft at once, and read the projects again when coming back."""
        self._bases.clear()
        begin(self, self._flush, group="flush")

    # Actions

    @work(group="pick")
    async def action_projects(self) -> None:
        """Choose the projects."""
        await self._pick_projects()

    async def _pick_projects(self) -> bool:
        rows = {row.name: row for row in self.app.snapshot.projects}
        chosen = await self.app.push_screen_wait(
            PickDialog(
                "Which projects?",
                sorted(rows),
                chosen=self._sheet.projects,
                about=lambda name: clip(rows[name].project.path, 40),
                empty="No projects yet; press + on the deck to add some.",
            )
        )
        if chosen is None:
            return False
        self._change(replace(self._sheet, projects=chosen))
        self.app.toast(f"For {shortened(chosen, 4)}." if chosen else "No project chosen.")
        return True

    @work(group="pick")
    async def action_files(self) -> None:
        """Choose files from the projects' base commits."""
        if not self._sheet.projects and not await self._pick_projects():
            return
        known = {row.name: row.project for row in self.app.snapshot.projects}
        await self._look_at([known[n] for n in self._sheet.projects if n in known and n not in self._bases])
        bases = [self._bases[name] for name in self._sheet.projects if name in self._bases]
        paths = dict.fromkeys(path for base in bases for path in base.paths)
        holders: dict[str, list[str]] = {}
        for base in bases if len(bases) > 1 else ():
            for path in base.paths:
                holders.setdefault(path, []).append(base.project)
        chosen = await self.app.push_screen_wait(
            PickDialog(
                "Which files?",
                list(paths),
                chosen=self._sheet.files,
                about=lambda path: shortened(holders.get(path, []), 2),
                empty="No files there.",
            )
        )
        if chosen is not None:
            self._change(replace(self._sheet, files=chosen))

    def action_variants(self) -> None:
        """More variants, then by prompt, then one again."""
        held = (self._sheet.variants, self._sheet.vary)
        place = VARIANTS.index(held) if held in VARIANTS else -1
        number, vary = VARIANTS[(place + 1) % len(VARIANTS)]
        self._change(replace(self._sheet, variants=number, vary=vary))

    @work(group="pick")
    async def action_after(self) -> None:
        """Choose the tasks that come first."""
        snapshot = self.app.snapshot
        cards = {card.task: card for card in (*snapshot.inbox, *snapshot.work)}
        # With the titles in the names, a word of one finds it.
        named = {f"{card.task}  {safe_line(card.title)}": card for card in cards.values()}
        held = [identifier for identifier in self._sheet.after if identifier not in cards]
        chosen = await self.app.push_screen_wait(
            PickDialog(
                "Which tasks come first?",
                [*named, *held],
                chosen=[name for name, card in named.items() if card.task in self._sheet.after] + held,
                about=lambda name: named[name].project if name in named else "ended",
                empty="No task waits or is worked on.",
            )
        )
        if chosen is not None:
            after = tuple(named[name].task if name in named else name for name in chosen)
            self._change(replace(self._sheet, after=after))

    def action_kind(self) -> None:
        """The next kind."""
        kinds = list(TaskKind)
        following = kinds[(kinds.index(self._sheet.kind) + 1) % len(kinds)]
        self._change(replace(self._sheet, kind=following))

    def action_complexity(self) -> None:
        """Simple, medium, complex."""
        words = list(Complexity)
        following = words[(words.index(self._sheet.complexity) + 1) % len(words)]
        self._change(replace(self._sheet, complexity=following))

    def action_more_urgent(self) -> None:
        """Raise the priority."""
        self._change(replace(self._sheet, priority=min(9, self._sheet.priority + 1)))

    def action_less_urgent(self) -> None:
        """Lower the priority."""
        self._change(replace(self._sheet, priority=max(-9, self._sheet.priority - 1)))

    @work(group="pick")
    async def action_template(self) -> None:
        """Insert a template above the text."""
        own, problems = await asyncio.to_thread(read_templates, config_path().parent / TEMPLATES)
        for problem in problems:
            self.app.toast(problem, "warning")
        templates = {template.name: template for template in (*BUILT_IN, *own)}
        about = {template.name: "your own" for template in own}
        chosen = await self.app.push_screen_wait(
            PickDialog(
                "Which template?",
                list(templates),
                many=False,
                about=lambda name: about.get(name, ""),
            )
        )
        if not chosen:
            return
        template = templates[chosen[0]]
        held = self.editor.text.strip()
        self.editor.put(f"{template.text}\n{held}" if held else template.text)
        first = template.text.partition("\n")[0]
        self.editor.move_cursor((0, len(first)))
        self._change(
            replace(
                self._sheet,
                kind=template.kind or self._sheet.kind,
                complexity=template.complexity or self._sheet.complexity,
            )
        )

    def action_editor(self) -> None:
        """Write in $VISUAL or $EDITOR, and take what was saved."""
        try:
            saved = open_in_editor(self.app, "task.md", self.editor.text.encode(), writable=True)
        except (NavigatorError, OSError) as error:
            self.app.toast(str(error), "warning")
            return
        text = saved.decode("utf-8", "replace").rstrip("\n")
        if text != self.editor.text.rstrip("\n"):
            self.editor.put(text)

    def action_discard(self) -> None:
        """Discard what was typed; ctrl+z restores the text."""
        if self.editor.text:
            self.editor.put("")
            self.app.toast("Text discarded; ctrl+z restores it.")
        self._change(Sheet(projects=self._sheet.projects))

    @work(group="queue", exclusive=True)
    async def action_send(self) -> None:
        """Queue the task for every chosen project."""
        if not self.editor.text.strip():
            self.app.toast("Write what needs to be done first.", "warning")
            return
        if not self._sheet.projects and not await self._pick_projects():
            return
        sheet = self.sheet
        trees = {name: frozenset(g.paths) for name, g in self._bases.items() if not g.problem}
        if await perform(self.app, AddTasks(), sheet.tasks(trees)) is None:
            return
        self.app.want_work()
        self.editor.load_text("")
        self._change(Sheet(projects=sheet.projects))
        await self.drafts.flush()
        await self.app.run_action("back", self.app)
