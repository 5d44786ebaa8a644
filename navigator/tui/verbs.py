"""The one way in which a screen performs a verb: say why it is refused, ask what has to be asked, do it, tell the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from navigator.actions.approve import Approve
from navigator.actions.base import Done, Question, Told, Verb
from navigator.actions.deciding import Pinned, Undo, decided
from navigator.actions.escalate import Escalate
from navigator.actions.notes import WORDS, JudgeFinding
from navigator.actions.reviews import AddReview
from navigator.engine.acting import read_done
from navigator.model.errors import NavigatorError
from navigator.model.states import Judgement, TaskState
from navigator.sheet.writing import numbered
from navigator.tui.base import BaseApp
from navigator.tui.dialogs import ConfirmDialog, NoteDialog, PickDialog

if TYPE_CHECKING:
    from navigator.model.models import Project
    from navigator.store.reads.reader import Reader


V = TypeVar("V", bound=Verb)


async def perform(app: BaseApp, verb: Verb, *, draft: str = "", quiet: bool = False) -> Done | None:
    """Perform a verb from a screen; call it in a worker, since it waits for dialogs.

    Args:
        app: the application.
        verb: what to do, and what to do it to.
        draft: the key under which an unfinished note is kept.
        quiet: leave the outcome to the caller, unless something went wrong.

    Returns:
        What was done, or None where it was refused, cancelled or failed; the user has been told.
    """
    try:
        refusal = await app.feed.read(verb.refuse)
        if refusal is not None:
            app.toast(str(refusal), "warning")
            return None
        question = await app.feed.read(verb.question)
        answered = await _ask_user(app, verb, question, draft) if question is not None else verb
        if answered is None:
            await app.drafts.flush()
            return None
        done = await _request(app, answered)
        if question is not None and question.note is not None:
            app.drafts.keep(draft, "")
            await app.drafts.flush()
    except NavigatorError as error:
        app.toast(str(error), "error")
        return None
    app.feed.poke()
    show(app, [told for told in done.told if not quiet or told.level != "information"])
    return done


async def send(app: BaseApp, verb: Verb) -> Sequence[Told]:
    """Perform a verb without questions, for a caller that shows the outcomes itself.

    Raises:
        NavigatorError: it was refused or failed.
    """
    done = await _request(app, verb)
    app.feed.poke()
    return done.told


async def _request(app: BaseApp, verb: Verb) -> Done:
    done = read_done(await app.link.request(verb.op, verb.model_dump(mode="json")))
    if isinstance(verb, Undo):
        app.last_decided = ()
    elif isinstance(verb, Approve):
        app.last_decided = tuple(row.id for row in decided(done) if row.recorded) or app.last_decided
    return done


def show(app: BaseApp, told: Sequence[Told]) -> None:
    """Outcomes as toasts; a hint that several share is shown once."""
    hints = [one.hint for one in told]
    for place, one in enumerate(told):
        hint = f" {one.hint}" if one.hint and one.hint not in hints[:place] else ""
        app.toast(f"{one}{hint}", one.level)


async def _ask_user(app: BaseApp, verb: V, question: Question, draft: str) -> V | None:
    """The verb with the user's answers; None where the user left one of the dialogs."""
    for number, item in enumerate(question.items, 1):
        count = f"{number} of {len(question.items)}  " if len(question.items) > 1 else ""
        if not await app.push_screen_wait(
            ConfirmDialog(f"{count}{item.title}", (), yes="I have looked at it")
        ):
            return None
    confirm = [item.key for item in question.items]
    if question.note is None:
        yes = await app.push_screen_wait(ConfirmDialog(question.title, question.lines, yes=question.yes))
        return verb.answered(confirm=confirm) if yes else None
    held = (await app.feed.read(lambda reader: reader.drafts(draft))).get(draft, "")
    app.drafts.seed(draft, held)
    note = await app.push_screen_wait(
        NoteDialog(
            question.title,
            question.lines,
            key=draft,
            text=held,
            needed=question.note.needed,
            placeholder=question.note.placeholder,
            yes=question.yes,
        )
    )
    return None if note is None else verb.answered(note=note, confirm=confirm)


# `R` on a project of the Deck: choose existing work, and have it reviewed.

COMMITS = 20
"""Commits of the current branch that are offered."""


async def review_existing(app: BaseApp, project: str) -> None:
    """Offer branches, uncommitted work and the last commits; queue what is chosen."""
    try:
        found = await app.feed.read(lambda reader: _offers(reader.project(project)))
    except NavigatorError as error:
        app.toast(str(error), "error")
        return
    title = f"Review what of {project}?"
    about = {name: words for name, (_, words) in found.items()}
    picked = await app.push_screen_wait(
        PickDialog(title, tuple(found), about=lambda name: about.get(name, ""))
    )
    for name in picked or ():
        await perform(app, AddReview(project=project, **found[name][0]))


def _offers(project: Project) -> dict[str, tuple[dict[str, Any], str]]:
    """What can be reviewed: its name in the list to the arguments and a few words. Blocks."""
    from navigator.git.existing import recent_commits
    from navigator.git.facts import read_facts, resolve_base
    from navigator.git.snapshot import uncommitted

    facts = read_facts(project.path)
    base = resolve_base(facts, project.base)[0]
    offers: dict[str, tuple[dict[str, Any], str]] = {}
    changed = uncommitted(facts)
    if changed.tracked or changed.untracked or changed.dropped:
        offers["uncommitted changes"] = ({"worktree": True}, "staged, unstaged and untracked files")
        offers["staged changes"] = ({"staged": True}, "what git commit would commit")
    for branch in facts.branches:
        if f"refs/heads/{branch}" != base:
            offers[f"branch {branch}"] = ({"branch": branch}, "as one change")
    for sha, subject in recent_commits(facts, COMMITS):
        offers[f"{sha[:12]} {subject}"] = ({"ref": sha}, "commit")
    return offers


# `J`: say what a finding is worth.

TAKE_BACK = "take it back"


async def judge(app: BaseApp, proposal: str, number: int) -> bool:
    """Offer the three words, and the way back where one was said; whether anything was kept."""
    shown = await app.feed.read(lambda reader: reader.proposal(proposal))
    _, _, finding = numbered(shown)[number - 1]
    choices: dict[str, Judgement | None] = {words: one for one, words in WORDS.items()}
    if finding.judged is not None:
        choices[TAKE_BACK] = None
    picked = await app.push_screen_wait(PickDialog("This finding is", tuple(choices), many=False))
    if not picked:
        return False
    verb = JudgeFinding(proposal=proposal, number=number, judgement=choices[picked[0]])
    return await perform(app, verb, draft=f"judge:{proposal}:{number}") is not None


# `E`: escalate one proposal. Who reads it is asked only where there is a choice.

REVIEWER, FINAL = "the reviewer", "the final model"


async def escalate(app: BaseApp, proposal: str, tree: str) -> None:
    """Ask who is to read it, show the price or what leaves the machine, and do it."""

    def may_leave(reader: Reader) -> bool:
        found = reader.proposal(proposal)
        task, project = reader.task(found.task_id), reader.project(found.project_id)
        return not task.escalated and project.escalate and task.state is TaskState.AWAITING_APPROVAL

    final = False
    if await app.feed.read(may_leave):
        picked = await app.push_screen_wait(PickDialog("Who reads it?", (REVIEWER, FINAL), many=False))
        if not picked:
            return
        final = picked[0] == FINAL
    pinned = (Pinned(id=proposal, tree=tree),)
    await perform(app, Escalate(proposals=pinned, final=final))
