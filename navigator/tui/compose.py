"""Compose: one task for one, several or all projects. What is typed is kept as a draft."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import Field, ValidationError
from textual import work
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import TextArea

from navigator.actions.tasks import AddTasks
from navigator.model.errors import NavigatorError
from navigator.model.models import Model, Project
from navigator.model.states import Complexity, TaskKind
from navigator.tui.base import ComposeFor, begin
from navigator.tui.deck_snapshot import DeckSnapshot
from navigator.tui.dialogs import Editor, PickDialog
from navigator.tui.keys import Action
from navigator.tui.terminal import open_in_editor
from navigator.tui.verbs import perform
from navigator.tui.widgets.cells import Piece, clip, cropped, fit, justified
from navigator.tui.widgets.page import PieceLines
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import NavScreen

_LABEL = 12

FIELDS = ("for", "kind", "complexity", "priority", "variants", "files")
"""What is said of a task beside its text, in the order of the form."""

_TURNED: dict[str, Iterable[object]] = {
    "kind": TaskKind,
    "complexity": Complexity,
    "priority": range(-9, 10),
    "variants": range(1, 5),
}
"""The fields that have a few values, with these."""


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

    def compose_body(self) -> ComposeResult:
        """The fields; warnings; the text."""
        yield RowList[str](lambda name: name, self._draw_field, id="fields")
        yield PieceLines(most=4, id="warnings")
        yield Editor(
            placeholder="What needs to be done? The first line becomes the subject of the commit.",
            id="text",
        )

    def on_mount(self) -> None:
        """Restore the draft."""
        self.fields.set_rows(FIELDS)
        self.query_one("#warnings", PieceLines).show(self._warnings)
        self._restore()

    @property
    def editor(self) -> Editor:
        """The text."""
        return self.query_one("#text", Editor)

    @property
    def fields(self) -> RowList[str]:
        """The form."""
        return self.query_one("#fields", RowList)

    @property
    def sheet(self) -> Sheet:
        """Everything on the screen now."""
        return self._sheet.model_copy(update={"text": self.editor.text})

    @work(exclusive=True, group="restore")
    async def _restore(self) -> None:
        try:
            held = (await self.app.feed.read(lambda reader: reader.drafts(DRAFT_KEY))).get(DRAFT_KEY, "")
        except NavigatorError as error:
            self.app.toast(str(error), "warning")
            held = ""
        self.app.drafts.seed(DRAFT_KEY, held)
        found = Sheet.from_draft(held)
        if found.text and not self.editor.text:
            self.editor.load_text(found.text)
            self.editor.move_cursor(self.editor.document.end)
        self._restored = True
        self._sheet = found.model_copy(update={"text": ""})
        self._change()
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
            self._change(projects=tuple(request.projects))
        self.editor.focus()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep what is typed."""
        if self._restored:
            self.app.drafts.keep(DRAFT_KEY, self.sheet.draft())

    def _change(self, **fields: object) -> None:
        """Another kind, other projects, other files."""
        self._sheet = self._sheet.model_copy(update=fields)
        self._redraw()
        if self._restored:
            self.app.drafts.keep(DRAFT_KEY, self.sheet.draft())
        self._look()

    def _redraw(self) -> None:
        self.fields.refresh()
        self.query_one(PieceLines).refresh(layout=True)

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """Projects came or went."""
        self._redraw()
        self._look()

    # Above the text

    def _value(self, name: str) -> tuple[str, str]:
        """A field's value, and a word beside it."""
        sheet, total = self._sheet, len(self.app.snapshot.projects)
        match name:
            case "for":
                count = len(sheet.projects)
                names = "all projects" if count > 1 and count == total else shortened(sheet.projects, 5)
                none = (
                    "choose one or more projects"
                    if total
                    else "no projects yet; press + on the deck to add some"
                )
                return names or none, f"{count} of {total}" if count > 1 else ""
            case "priority":
                return f"{sheet.priority:+d}" if sheet.priority else "normal", "higher is written first"
            case "variants":
                return f"{sheet.variants} proposals" if sheet.variants > 1 else "one proposal", ""
            case "files":
                return shortened(sheet.files, 4) or "found automatically", ""
        return getattr(sheet, name).value, ""

    def _draw_field(self, name: str, width: int) -> list[Piece]:
        """`for  billing  2 of 3`: what it is now, and beside the one under the cursor what changes it."""
        value, more = self._value(name)
        line: list[Piece] = [(fit(name, _LABEL), "muted"), (value, "strong" if name == "for" else "")]
        line.append((f"  {more}" if more else "", "muted"))
        here = self.fields.has_focus and self.fields.current == name
        hint = ("enter to choose" if name in self._picks else "← → to change") if here else ""
        return justified(line, [(hint, "accent")] if hint else [], min(width, 100))

    @property
    def _picks(self) -> dict[str, Callable[[], Awaitable[object]]]:
        """The fields whose values are chosen from a list."""
        return {"for": self._pick_projects, "files": self._pick_files}

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
        known = {row.name for row in self.app.snapshot.projects} - self._looking
        missing = [name for name in self._sheet.projects if name in known and name not in self._bases]
        if missing:
            self._looking.update(missing)
            begin(self, partial(self._look_at, missing), group="look")

    async def _look_at(self, names: list[str]) -> None:
        try:
            for project in await self.app.feed.read(lambda reader: reader.projects()):
                if project.name in names:
                    self._bases[project.name] = await asyncio.to_thread(look_at, project)
                    self._redraw()
        except NavigatorError as error:
            self.app.toast(str(error), "error")
        finally:
            self._looking.difference_update(names)

    async def _read_bases(self) -> None:
        """Read the chosen projects that are not read now."""
        await self._look_at([name for name in self._sheet.projects if name not in self._bases])

    def on_screen_suspend(self) -> None:
        """Save the draft at once, and read the projects again when coming back."""
        self._bases.clear()
        begin(self, self.app.drafts.flush, group="flush")

    # Actions

    def on_descendant_focus(self) -> None:
        """The keys go to the form, or to the text."""
        self.refresh_keys()

    def offers(self, action: Action) -> bool:
        """A field is changed where the cursor is in the form."""
        return action.id != "compose.change" or self.fields.has_focus

    def action_next_pane(self) -> None:
        """To the form, or to the text."""
        (self.editor if self.fields.has_focus else self.fields).focus()

    def action_change(self) -> None:
        """Choose the field's value from a list, or take the next one."""
        name = self.fields.current
        if self.fields.has_focus and name in self._picks:
            self.run_worker(self._picks[name](), group="pick")
        else:
            self._turn(1)

    def action_change_back(self) -> None:
        """Take the field's previous value."""
        self._turn(-1)

    def on_row_list_chosen(self) -> None:
        """A double click changes a field, too."""
        self.action_change()

    def _turn(self, by: int) -> None:
        """Take the next value of the field under the cursor, or the one before, round and round."""
        name = self.fields.current if self.fields.has_focus else ""
        if name in _TURNED:
            values = list(_TURNED[name])
            place = values.index(getattr(self._sheet, name)) + by
            self._change(**{name: values[place % len(values)]})

    async def _pick_projects(self) -> bool:
        rows = {row.name: row for row in self.app.snapshot.projects}
        chosen = await self.app.push_screen_wait(
            PickDialog(
                "Which projects?",
                sorted(rows),
                chosen=self._sheet.projects,
                about=lambda name: clip(rows[name].path, 40),
                empty="No projects yet; press + on the deck to add some.",
            )
        )
        if chosen is None:
            return False
        self._change(projects=tuple(chosen))
        return True

    async def _pick_files(self) -> None:
        """Choose files from the projects' base commits."""
        if not self._sheet.projects and not await self._pick_projects():
            return
        await self._read_bases()
        bases = [self._bases[name] for name in self._sheet.projects if name in self._bases]
        paths = dict.fromkeys(path for base in bases for path in base.paths)
        chosen = await self.app.push_screen_wait(
            PickDialog(
                "Which files?",
                list(paths),
                chosen=self._sheet.files,
                empty="No files there.",
            )
        )
        if chosen is not None:
            self._change(files=tuple(chosen))

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

    @work(group="queue", exclusive=True)
    async def action_send(self) -> None:
        """Queue the task for every chosen project."""
        if not self.editor.text.strip():
            self.app.toast("Write what needs to be done first.", "warning")
            return
        if not self._sheet.projects and not await self._pick_projects():
            return
        await self._read_bases()
        sheet = self.sheet
        trees = {name: frozenset(g.paths) for name, g in self._bases.items() if not g.problem}
        try:
            verb = sheet.tasks(trees)
        except NavigatorError as error:
            self.app.toast(str(error), "warning")
            return
        if await perform(self.app, verb) is None:
            return
        self.app.want_work()
        self.editor.load_text("")
        self._sheet = Sheet(projects=sheet.projects)
        self._change()
        await self.app.drafts.flush()
        await self.app.run_action("back", self.app)


DRAFT_KEY = "compose:task"


class Sheet(Model):
    """Everything the compose screen holds."""

    text: str = ""
    projects: tuple[str, ...] = ()
    kind: TaskKind = TaskKind.IMPLEMENT
    complexity: Complexity = Complexity.MEDIUM
    priority: int = Field(default=0, ge=-9, le=9)
    files: tuple[str, ...] = ()
    variants: int = Field(default=1, ge=1, le=4)

    def draft(self) -> str:
        """As a draft is stored; "" for a sheet with nothing on it."""
        return self.model_dump_json() if self.text.strip() or self.files else ""

    @classmethod
    def from_draft(cls, text: str) -> Sheet:
        """Back from the store. A draft that cannot be read as one is a text."""
        try:
            return cls.model_validate_json(text) if text else cls()
        except ValidationError:
            return cls(text=text)

    def tasks(self, trees: dict[str, frozenset[str]]) -> AddTasks:
        """One task per project, each with those of the files that its project has.

        Args:
            trees: the paths of each project, where they are known; an unknown project gets every file.

        Raises:
            UsageError: there can be no such task.
        """
        common = self.model_dump(mode="json", exclude={"projects", "files"}) | {"text": self.text.strip()}
        held = {
            project: [path for path in self.files if project not in trees or path in trees[project]]
            for project in self.projects
        }
        tasks = [common | {"project": project, "files": files} for project, files in held.items()]
        return AddTasks.read({"tasks": tasks})


def shortened(paths: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


MOST_UNCOMMITTED = 200


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """One project as it is now. `problem` says why it cannot be read; "" normally."""

    project: str
    paths: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()
    problem: str = ""


def look_at(project: Project) -> BaseFiles:
    """Read it from the user's repository; nothing is written anywhere. Runs git: call it in a thread.

    Secrets are left out of the paths, since no model is shown them.
    """
    from navigator.context.scope import in_scope, is_secret
    from navigator.git.facts import read_facts, resolve_base
    from navigator.git.snapshot import uncommitted_paths

    try:
        facts = read_facts(project.path)
        _, commit = resolve_base(facts, project.base)
        listed = facts.git().run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).stdout
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
        unseen = uncommitted_paths(facts, limit=MOST_UNCOMMITTED)
        paths = tuple(
            name for name in names if name.isprintable() and not is_secret(name) and in_scope(name, project)
        )
        return BaseFiles(project.name, paths, unseen)
    except NavigatorError as error:
        return BaseFiles(project.name, problem=str(error))
