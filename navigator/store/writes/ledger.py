"""Writing what was measured (calls, swaps, batches, failures) and small things the screens keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from navigator.model.errors import Conflict, NotFound, UsageError
from navigator.model.ids import number_of
from navigator.model.ids import proposal_id as proposal_name
from navigator.model.ids import task_id as task_name
from navigator.model.models import Swap, Usage, utc_now
from navigator.model.records import (
    Afterlife,
    AgentTurn,
    EditFailure,
    ExamAnswer,
    ExamItem,
    ExamTrial,
    Fate,
    Look,
    ModelCall,
)
from navigator.model.states import LOOP_TASK_STATES, EditCode, Role
from navigator.store.reads.queries import COUNTED
from navigator.store.schema import dumped, packed
from navigator.store.writes.core import TransactionCore

STARTED = "started"
"""A call's outcome while it runs."""

LOST = "lost"
"""A call's outcome when its process died before the answer was stored."""

REFUSED = "refused"
"""A call's outcome once its answer was judged and did not apply."""

TESTS_FAILED = "tests_failed"
"""A call's outcome once its answer applied and broke tests that the base passes."""

LOOKED = "looked"
"""A call's outcome once its answer asked to be shown more."""


class LedgerWrites(TransactionCore):
    """Events: call_started, call_ended, call_judged, swap_added, edit_failed, looked, comment_added,
    comment_removed. Drafts and meta values write none."""

    def begin_call(
        self,
        role: Role,
        task_id: str = "",
        attempt: int = 0,
        round: int = 0,
        purpose: str = "",
        *,
        seq: int = 0,
        **more: Any,
    ) -> int:
        """Record a model call before it is sent.

        A step is (task, attempt, round, purpose, seq): a later call for the same step is marked a repeat.

        Args:
            task_id: T…, or "" for a call that belongs to no task (such are never repeats).
            seq: tells steps of one purpose apart within a round, e.g. the first and the second repair.
            more: other fields of `ModelCall` by name.

        Returns:
            The call's number, for `end_call`.
        """
        number = number_of(task_id, "T") if task_id else None
        repeat = number is not None and (
            self._run(
                "SELECT 1 FROM calls WHERE task_id = ? AND attempt = ? AND round = ? AND purpose = ? AND seq = ?",
                (number, attempt, round, purpose, seq),
            ).fetchone()
            is not None
        )
        call = ModelCall(
            id=0,
            role=role,
            task_id=task_id,
            attempt=attempt,
            round=round,
            purpose=purpose,
            seq=seq,
            outcome=STARTED,
            repeat=repeat,
            started=utc_now(),
            **more,
        )
        call_id = self._insert("calls", call, ended=None)
        self._call_event("call_started", call_id)
        return call_id

    def end_call(
        self,
        call_id: int,
        *,
        outcome: str = "ok",
        usage: Usage | None = None,
        retries: int = 0,
        answer: str | None = None,
        model: str | None = None,
        error_code: str = "",
        entropy: float | None = None,
    ) -> None:
        """Record how a call ended.

        Args:
            outcome: "ok", or a word for the failure; not "started".
            answer: the model's text, kept compressed so that a repair or a revision can quote it.
            model: None leaves what `begin_call` said.
            entropy: how unsure the model was of a token, in bits; None where the server did not tell.

        Raises:
            NotFound: no such call is running.
        """
        row = self._run(
            "SELECT * FROM calls WHERE id = ? AND outcome IN (?, ?)", (call_id, STARTED, LOST)
        ).fetchone()
        if row is None:
            raise NotFound(f"There is no running call {call_id}.", hint="It was ended before.")
        usage, ended, model = usage or Usage(), utc_now(), model or row["model"]
        values: dict[str, Any] = {"outcome": outcome, "error_code": error_code, "retries": retries}
        busy = self._busy(row["role"], model, ended, usage.seconds)
        values |= {"ended": ended, "model": model, "busy": busy, "entropy_mean": entropy}
        values |= usage.model_dump()
        if answer is not None:
            values["answer"] = packed(answer)
        self._update("calls", call_id, values)
        self._call_event("call_ended", call_id)

    def _busy(self, role: str, model: str, ended: str, seconds: float) -> float:
        """How many of a call's `seconds` no call of its role and model that ended before covers; the exam's count nowhere."""
        others = self._run(
            "SELECT 86400.0 * (julianday(?3) - julianday(ended)) AS ago, seconds FROM calls"
            " WHERE role = ?1 AND model = ?2 AND ended > strftime('%Y-%m-%dT%H:%M:%fZ', ?3, -?4 || ' seconds')"
            f" AND {COUNTED} ORDER BY ended DESC",
            (role, model, ended, seconds),
        )
        busy, reached = 0.0, 0.0  # seconds before the end, up to which it was looked
        for other in others:
            if other["ago"] > reached:
                busy += other["ago"] - reached
            reached = max(reached, other["ago"] + other["seconds"])
        return busy + max(0.0, seconds - reached)

    def judge_call(self, call_id: int, outcome: str) -> None:
        """Change an ended call's outcome after its answer was looked at, e.g. to "refused".

        Raises:
            NotFound: no such call has ended.
        """
        row = self._run(
            "SELECT 1 FROM calls WHERE id = ? AND outcome NOT IN (?, ?)", (call_id, STARTED, LOST)
        ).fetchone()
        if row is None:
            raise NotFound(f"There is no ended call {call_id}.", hint="It runs still, or was lost.")
        self._update("calls", call_id, {"outcome": outcome})
        self._call_event("call_judged", call_id)

    def lose_calls(self) -> int:
        """Mark every call that an earlier process left running as lost.

        Returns:
            How many there were.
        """
        return self._run(
            "UPDATE calls SET outcome = ?, ended = ? WHERE outcome = ?", (LOST, utc_now(), STARTED)
        ).rowcount

    def forget_answers(self, before: str) -> int:
        """Drop the stored texts of calls that ended before a UTC time, but for tasks the loop still works on.

        The figures stay.

        Returns:
            How many texts were dropped.
        """
        working = ", ".join(f"'{state.value}'" for state in sorted(LOOP_TASK_STATES))
        return self._run(
            "UPDATE calls SET answer = NULL WHERE answer IS NOT NULL AND coalesce(ended, started) < ?"
            f" AND (task_id IS NULL OR task_id NOT IN (SELECT id FROM tasks WHERE state IN ({working})))",
            (before,),
        ).rowcount

    def forget_events(self, before: str) -> int:
        """Drop events older than a UTC time, but never the newest (its number must not come again).

        Returns:
            How many were dropped.
        """
        return self._run(
            "DELETE FROM events WHERE at < ? AND seq < (SELECT max(seq) FROM events)", (before,)
        ).rowcount

    def add_swap(self, swap: Swap) -> int:
        """Keep a measured swap; its `id` is not looked at."""
        number = self._insert("swaps", swap)
        said = {"id": number, "to": swap.to_role.value, "seconds": swap.seconds, "outcome": swap.outcome}
        self.event("swap_added", data=said | ({"reason": swap.reason} if swap.reason else {}))
        return number

    def add_edit_failure(
        self, task_id: str, attempt: int, round: int, code: EditCode, path: str = "", *, model: str = ""
    ) -> int:
        """Keep one reason why an answer's edits did not apply."""
        self._task_row(task_id)
        failure = EditFailure(
            task_id=task_id,
            attempt=attempt,
            round=round,
            code=EditCode(code),
            path=path,
            model=model,
            # One moment for all failures of one answer: they are counted as one try per file.
            at=self.at,
        )
        number = self._insert("edit_failures", failure)
        self.event("edit_failed", task_id, data={"code": failure.code.value, "path": path})
        return number

    def add_looks(self, call_id: int, looks: Sequence[Look]) -> None:
        """Keep what a call's answer asked to be shown, and that the call asked for nothing else.

        Raises:
            NotFound: no such call has ended.
        """
        self.judge_call(call_id, LOOKED)
        for look in looks:
            self._insert("looks", look, call_id=call_id, at=self.at)
        if looks:
            shown = [look.target for look in looks]
            said = {"role": looks[0].role.value, "turn": looks[0].turn, "looks": shown}
            self.event("looked", looks[0].task_id, data=said | {"tokens": sum(look.tokens for look in looks)})

    def save_draft(self, key: str, text: str) -> None:
        """Keep an unfinished text under a key; an empty one removes it."""
        if not text:
            self._run("DELETE FROM drafts WHERE key = ?", (key,))
            return
        self._put("drafts", key=key, text=text, updated=utc_now())

    def set_meta(self, key: str, value: Any) -> None:
        """Keep a small JSON value under a key; None removes it."""
        if value is None:
            self._run("DELETE FROM meta WHERE key = ?", (key,))
            return
        self._run(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, dumped(value)),
        )

    def add_comment(
        self, proposal_id: str, *, path: str, line: int, text: str, side: str = "new", quote: str = ""
    ) -> int:
        """Keep a comment of the developer on one line of a proposal (`side` "new" or "old").

        Returns:
            Its number.

        Raises:
            UsageError: no text, an unknown side, or a negative line.
        """
        row = self._proposal_row(proposal_id)
        if side not in ("new", "old") or not text.strip() or line < 0:
            raise UsageError(
                "A comment needs a text, and a line on the new or the old side.", hint="Try again."
            )
        number = self._insert(
            "comments",
            task_id=row["task_id"],
            proposal_id=row["id"],
            path=path,
            side=side,
            line=line,
            quote=quote,
            text=text,
            created=utc_now(),
        )
        self.event("comment_added", task_name(row["task_id"]), proposal_id, {"comment": number, "path": path})
        return number

    def drop_comment(self, number: int) -> None:
        """Remove a comment.

        Raises:
            NotFound: there is no such comment.
            Conflict: it was sent already.
        """
        row = self._row("comments", number, f"comment {number}")
        if row["sent"]:
            raise Conflict(f"Comment {number} was sent already.", hint="Write another one.")
        self._run("DELETE FROM comments WHERE id = ?", (number,))
        where = task_name(row["task_id"]), proposal_name(row["proposal_id"])
        self.event("comment_removed", *where, {"comment": number})

    def mark_comments_sent(self, comment_ids: Iterable[int]) -> None:
        """Note that these comments went into a new attempt's prompt."""
        for number in comment_ids:
            self._row("comments", number, f"comment {number}")
            self._update("comments", number, {"sent": 1})

    def _call_event(self, kind: str, call_id: int) -> None:
        row = self._row("calls", call_id, f"call {call_id}")
        names = ("role", "purpose", "attempt", "round", "outcome", "completion_tokens", "seconds")
        data = {"call": call_id, **{name: row[name] for name in names}}
        self.event(kind, task_name(row["task_id"]) if row["task_id"] else "", data=data)


# Writing what coding agents did.


class AgentWrites(TransactionCore):
    """Events: agent_started, agent_ended."""

    def begin_agent_turn(self, turn: AgentTurn) -> int:
        """Record a prompt to an agent before it is sent; its `id`, `outcome` and times are not looked at."""
        fresh = {"outcome": STARTED, "started": utc_now()}
        number = self._insert("agent_turns", turn.model_copy(update=fresh), ended=None)
        self.event("agent_started", turn.task_id, data={"turn": number, "purpose": turn.purpose})
        return number

    def end_agent_turn(self, number: int, *, outcome: str, **values: Any) -> None:
        """Record how it ended; `values` are fields of `AgentTurn`.

        Raises:
            NotFound: no such turn.
        """
        if "tools" in values:
            values["tools"] = dumped(values["tools"])
        self._update("agent_turns", number, {"outcome": outcome, "ended": utc_now(), **values})
        task = self.read.agent_turn(number).task_id
        self.event("agent_ended", task, data={"turn": number, "outcome": outcome})

    def judge_agent_turn(self, number: int, outcome: str) -> None:
        """Change an ended turn's outcome after its change was tested."""
        self._update("agent_turns", number, {"outcome": outcome})

    def lose_agent_turns(self) -> int:
        """Mark every turn that an earlier process left open as lost; returns how many there were."""
        return self._run(
            "UPDATE agent_turns SET outcome = ?, ended = ? WHERE outcome = ?", (LOST, utc_now(), STARTED)
        ).rowcount


# Writing the reviewer's exam.


class ExamWrites(TransactionCore):
    """Items and answers."""

    def add_exam_item(self, item: ExamItem) -> int | None:
        """A new item's id; None where one of the same origin is there already."""
        if self._run("SELECT 1 FROM exam_items WHERE origin = ?", (item.origin,)).fetchone():
            return None
        return self._insert("exam_items", item)

    def retire_exam_item(self, item_id: int, why: str) -> None:
        """Ask about an item no more, and count its answers no more."""
        self._run("UPDATE exam_items SET retired = ? WHERE id = ?", (why, item_id))

    def set_exam_trial(self, trial: ExamTrial) -> None:
        """Keep what became of a trial, in place of an earlier one of the same change."""
        self._put("exam_trials", trial)

    def add_exam_answer(self, answer: ExamAnswer) -> int:
        """What the reviewer said of an item."""
        self._row("exam_items", answer.item_id, f"exam item {answer.item_id}")
        return self._insert("exam_answers", answer)


# Writing what became of landed commits.


class OutcomeWrites(TransactionCore):
    """Writes no events: nothing waits for these."""

    def set_fate(self, fate: Fate) -> None:
        """Keep what became of a proposal's landed commit, in place of what an earlier look said."""
        self._put("fates", fate)

    def set_afterlife(self, seen: Afterlife) -> None:
        """Keep what became of a finding's line, in place of what an earlier look said."""
        self._put("afterlives", seen)
