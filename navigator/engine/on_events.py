"""Runs the user's own commands when something happened: `[on]` in the settings.

The commands are the user's and run as the user. What happened goes to them as JSON on stdin, never as an argument: titles and
findings were written by models and by authors of commits.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from navigator.engine.acting import learn_changes, learn_secrets, reading
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import Storage
from navigator.model.errors import NavigatorError
from navigator.model.models import Event, Proposal
from navigator.model.states import TaskState
from navigator.model.text import safe_data, safe_line
from navigator.process.runner import running
from navigator.sheet.waiting import waiting

log = logging.getLogger(__name__)

SEEN = "on_events"
"""Under this key the store has the number of the last event whose commands have run."""

MOST_LATE = 1_000
"""Events made while no conductor ran, at most, whose commands are run afterwards: the newest."""

KINDS = ("landing_set", "review_added", "task_state", "swap_added", "batch_ended", "conductor_ended")
LONGEST_SECONDS = 60.0
"""How long a command may take; then it is stopped with everything it started. Commands wait for each other."""

_ENDING_SECONDS = 10.0
"""How long a command that is stopped may take to end, with what it started."""

_FINDINGS = 50
_FINDING = {"severity", "path", "line", "message", "anchored"}
_CHARACTERS = 4_000


class OnEvents:
    """Follows the store's events and runs what the settings name, one after another, each at least once.

    The number of an event is stored when its command has ended. After a crash in between, the command runs again: with the same
    `id`, by which it can tell.
    """

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._settings = deps.settings.on
        self._more = asyncio.Event()
        self._seen = 0
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin after what ran already; with `[on]` new in the settings, from now on."""
        latest = self._deps.reader.last_seq()
        held = self._deps.reader.meta(SEEN, int)
        self._seen = latest if held is None else max(int(held), latest - MOST_LATE)
        used = bool(self._settings.events)
        if used or held is not None:
            self._note(self._seen if used else None)
        if used:
            self._task = asyncio.create_task(self._run())

    def look(self, event: Event) -> None:
        """There is a new event."""
        if event.kind in KINDS:
            self._more.set()

    async def close(self, *, finish: bool) -> None:
        """End. `finish`: run first, for as long as one command may take, what is due; the next conductor runs what is left."""
        if self._task is None:
            return
        self._closing = True
        self._more.set()
        if not finish:
            self._task.cancel()
        with suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(self._task, LONGEST_SECONDS + _ENDING_SECONDS)

    async def _run(self) -> None:
        while True:
            self._more.clear()
            try:
                await self._catch_up()
            except NavigatorError as error:
                log.warning("[on]: %s", error)
            if self._closing:
                return
            await self._more.wait()

    async def _catch_up(self) -> None:
        while events := self._deps.reader.events_of(KINDS, self._seen):
            for event in events:
                try:
                    said = self._document(event)
                    if said is not None:
                        await self._tell(self._settings.command(said["event"]), said)
                except Exception:
                    # One event that cannot be reported must not hold up those after it.
                    log.exception("[on]: event %d (%s) was left out", event.seq, event.kind)
                self._seen = event.seq
                self._note(event.seq)

    def _note(self, seq: int | None) -> None:
        with self._storage.writing("which commands of [on] have run"), self._deps.store.transaction() as tx:
            tx.set_meta(SEEN, seq)

    async def _tell(self, command: Sequence[str], said: dict[str, Any]) -> None:
        name = f"[on] {said['event']}"
        program = program_of(command)
        if program is None:
            log.warning("%s: %s does not exist or is not executable", name, safe_line(command[0]))
            return
        await asyncio.to_thread(self._learn, said)
        # Redacted before it is cut: half a key is not recognised.
        given = json.dumps(_brief(safe_data(self._deps.redact.data(said))), ensure_ascii=False).encode()
        try:
            ended = await running([program, *command[1:]], LONGEST_SECONDS, given=given + b"\n")
        except TimeoutError:
            log.warning("%s: %s did not end within %g s and was stopped", name, program, LONGEST_SECONDS)
        except OSError as error:
            log.warning("%s: %s cannot be started: %s", name, program, error.strerror)
        else:
            words = self._deps.redact(ended.last_words)
            level = logging.WARNING if ended.code else logging.INFO
            log.log(level, "%s: %s ended with %d%s", name, program, ended.code, f": {words}" if words else "")

    def _learn(self, said: dict[str, Any]) -> None:
        """The secrets of what is told, in a thread."""
        names = {said["project"]["name"]} if "project" in said else set()
        names |= {one["project"] for one in said.get("waiting", ())}
        shown = [one["id"] for one in (*said.get("waiting", ()), said.get("proposal")) if one]
        redact, paths = self._deps.redact, self._deps.paths
        with reading(paths) as store:
            learn_secrets(redact, paths, [one for one in store.projects() if one.name in names])
            try:
                learn_changes(redact, paths, store, [store.proposal(one) for one in shown])
            except NavigatorError as error:
                log.warning("[on]: values of secret files are not redacted: %s", error)

    def _document(self, event: Event) -> dict[str, Any] | None:
        """What the command of this event is given; None for an event without one."""
        name = _name(event)
        if not name or not self._settings.command(name):
            return None
        said: dict[str, Any] = {"event": name, "id": event.seq, "at": event.at}
        said["rehearsal"] = self._deps.reader.rehearsal
        if event.kind == "swap_added":
            return said | {"swap": event.data}
        if event.kind == "conductor_ended":
            return said | event.data
        if event.kind == "batch_ended":
            return self._batch(said, str(event.data["batch"]))
        task = self._deps.reader.task(event.task_id)
        project = self._deps.reader.project(task.project_id)
        said["task"] = task.model_dump(mode="json", include={"id", "text", "kind", "state", "reason"})
        said["project"] = {"name": project.name, "path": project.path}
        if event.proposal_id:
            proposal = self._deps.reader.proposal(event.proposal_id)
            said["proposal"] = _proposal(proposal)
        return said

    def _batch(self, said: dict[str, Any], batch: str) -> dict[str, Any] | None:
        """None where nothing of the batch waits for the developer: all of it is revised first."""
        waits = waiting(self._deps.reader)
        mine = [card.proposal for card in waits if card.with_you and card.batch == batch]
        found = [self._deps.reader.proposal(identifier) for identifier in mine]
        if not found:
            return None
        return said | {
            "batch": batch,
            "for_you": len(waits),
            "waiting": [_proposal(one) | {"project": one.project} for one in found],
        }


def program_of(command: Sequence[str]) -> str | None:
    """The path of a command's program; None where it does not exist or is not executable."""
    return shutil.which(Path(command[0]).expanduser())


def _name(event: Event) -> str:
    """The name in `[on]` of an event; "" where it has none."""
    if event.kind == "landing_set" and event.data.get("state") == "landed":
        return "landed"
    if event.kind == "review_added" and event.data.get("role") != "generator":
        return "reviewed"
    if event.kind == "task_state" and event.data.get("to") == TaskState.FAILED:
        return "failed"
    if event.kind == "swap_added" and event.data.get("outcome") != "done":
        return "swap_failed"
    if event.kind == "conductor_ended" and "since" in event.data:
        return "run_ended"
    return "batch_ready" if event.kind == "batch_ended" else ""


def _brief(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_CHARACTERS]
    if isinstance(value, dict):
        return {key: _brief(item) for key, item in value.items()}
    return [_brief(item) for item in value] if isinstance(value, list) else value


def _proposal(proposal: Proposal) -> dict[str, Any]:
    review, landing = proposal.review, proposal.landing
    findings = review.findings if review else ()
    return proposal.model_dump(
        mode="json", include={"id", "title", "round", "added", "removed", "existing"}
    ) | {
        "verdict": review.verdict if review else None,
        "summary": review.summary if review else "",
        "findings": [one.model_dump(mode="json", include=_FINDING) for one in findings[:_FINDINGS]],
        "branch": landing.ref.removeprefix("refs/heads/") if landing else "",
        "commit": landing.commit if landing else "",
    }
