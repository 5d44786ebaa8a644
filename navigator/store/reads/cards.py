"""Every task that still matters today as one light row, for screens that show thousands at once.

The domain's models cost a validation each; a deck of 10,000 proposals is read in one query here instead, and after an
event only the tasks it names are read again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from navigator.model.errors import NotFound
from navigator.model.ids import PART_BASE, number_of, proposal_id, task_id
from navigator.model.json_text import read_json
from navigator.model.states import (
    FOR_DEVELOPER,
    LIVE_TASK_STATES,
    CheckOutcome,
    LandingState,
    PolicyAction,
    Role,
    Standing,
    TaskKind,
    TaskState,
    Verdict,
    standing,
    waits_for_developer,
)
from navigator.store.reads.queries import LINKED, MET, Queries
from navigator.store.rows import DamagedRow

_CHUNK = 500


def _newest_verdict(role: Role, proposal: str = "a.id", order: str = "DESC", besides: str = "") -> str:
    """The verdict of a role's newest, or first, reading of a proposal, as a subquery."""
    return (
        f"(SELECT verdict FROM reviews WHERE proposal_id = {proposal} AND role = '{role.value}'{besides}"
        f" ORDER BY id {order} LIMIT 1)"
    )


_NEWEST = """LEFT JOIN proposals a ON a.id = (
       SELECT max(id) FROM proposals WHERE task_id = t.id AND attempt = t.attempt AND state <> 'superseded')"""

_CARDS = f"""
SELECT t.id AS task, t.project_id, p.name AS project, t.text, t.kind, t.priority, t.state, t.round,
       t.since, t.reason, length(t.report) AS report_length, t.after, t.variant_of, t.variant,
       CASE WHEN t.variant_of IS NOT NULL THEN
           (SELECT count(*) FROM tasks WHERE variant_of = t.variant_of) ELSE 0 END AS variants,
       CASE WHEN t.after <> '[]' THEN
           (SELECT group_concat(o.id || ' ' || o.state) FROM {LINKED} WHERE NOT {MET}) END AS waits,
       a.id AS proposal, a.state AS proposal_state, a.title, a.tree, a.batch, a.policy, a.checks, a.edits, a.added, a.removed,
       a.seen, a.round AS proposal_round, a.parent, t.base,
       CASE WHEN EXISTS (SELECT 1 FROM meta WHERE key = '{PART_BASE}' || a.base_commit) THEN '' ELSE a.base_commit END AS made_on,
       t.ref AS of_change, p.careful,
       r.verdict, r.stated_verdict, r.self_review, r.advice <> '' AS advice, r.findings, a.tests,
       r.hunks, json_array_length(r.unread) AS unread,
       {_newest_verdict(Role.REVIEWER, order="ASC", besides=" AND id <> r.id")} AS first_verdict,
       {_newest_verdict(Role.FINAL)} AS final_verdict, {_newest_verdict(Role.GENERATOR)} AS own_verdict,
       {_newest_verdict(Role.REVIEWER, "a.parent")} AS whole_verdict,
       (SELECT count(*) FROM reproductions WHERE review_id = r.id AND outcome IN ('regression', 'unmet')) AS reproduced,
       l.state AS landing, l.ref, l.reason AS why_refused,
       CASE WHEN t.kind = 'scan' THEN (SELECT count(*) FROM suggestions
            WHERE task_id = t.id AND attempt = t.attempt AND state = 'open') ELSE 0 END AS suggestions
  FROM tasks t
  JOIN projects p ON p.id = t.project_id
  {_NEWEST}
  LEFT JOIN reviews r ON r.id = (
       SELECT max(id) FROM reviews WHERE proposal_id = a.id AND role = 'reviewer')
  LEFT JOIN landings l ON l.id = (SELECT max(id) FROM landings WHERE proposal_id = a.id)
"""


@dataclass(frozen=True, slots=True)
class Card:
    """One task and its newest proposal that was not superseded, or one that was asked for.

    Attributes:
        title: the proposal's, or the task's first line.
        after: the tasks that it comes after.
        waits: those that still hold it up, with their states.
        variant_of: the first of its task's `variants`, of which it is number `variant`; "" where it is written once.
        proposal: its id, or "".
        proposal_round: the round it is from; the task's own is later where a revision came to nothing.
        base: the task's own base, or ""; `made_on` the commit its proposal was made on, "" where that holds another proposal.
        verdict: of its reviewer's newest reading; None while it has none. `stated`: what that reading said itself; `first`,
            `final`, `own`, `whole`: the reviewer's first one where it read again, the final model's, the writer's, and that of
            the proposal it is a part of.
        advice: its REVISE sent nothing back, because the exam found its reviewer no better than chance.
        blocking: how many of its findings block (blocker or major, anchored).
        careful: the patterns of its project.
        confirm, refused: policy items that the developer must confirm, or that are refused: rule, path, words.
        tests: what the project's tests said.
        reproduced: findings that a test reproduced.
        failed: the names of the checks that said no; `lost_tests`: the tests ran on its base, and not on it.
        report: the task ended in words: a report, or an answer that asks for no change.
        report_length: its characters; 0 for the answer that no change is needed.
        suggestions: how many tasks a scan proposes that were neither accepted nor dismissed.
        parent: the proposal that this one holds some hunks of, or "".
        change: the existing change that it reviews, such as `main..topic`, or "".
        landing: how far an approval got: "", "pending", "landed", "refused" or "undone".
        overlaps: other proposals that wait and touch one of its paths; `rivals`: how many other variants of it wait; `moved`: its
            project's base is at another commit now. These three are known where the card was held against the others
            (`sheet.marks`).
    """

    task: str
    project_id: int
    project: str
    title: str
    kind: str
    priority: int
    state: TaskState
    round: int
    since: str
    reason: str
    report: bool
    report_length: int = 0
    suggestions: int = 0
    after: tuple[str, ...] = ()
    waits: tuple[tuple[str, TaskState], ...] = ()
    variant_of: str = ""
    variant: int = 0
    variants: int = 0
    proposal: str = ""
    proposal_round: int = 0
    open: bool = False
    tree: str = ""
    batch: str = ""
    base: str = ""
    made_on: str = ""
    verdict: Verdict | None = None
    stated: Verdict | None = None
    first: Verdict | None = None
    final: Verdict | None = None
    own: Verdict | None = None
    whole: Verdict | None = None
    self_review: bool = False
    advice: bool = False
    hunks: int = 0
    unread: int = 0
    blocking: int = 0
    added: int = 0
    removed: int = 0
    paths: tuple[str, ...] = ()
    careful: tuple[str, ...] = ()
    confirm: tuple[tuple[str, str, str], ...] = ()
    refused: tuple[tuple[str, str, str], ...] = ()
    tests: CheckOutcome | None = None
    reproduced: int = 0
    failed: tuple[str, ...] = ()
    lost_tests: bool = False
    seen: bool = False
    parent: str = ""
    change: str = ""
    landing: str = ""
    landing_ref: str = ""
    overlaps: tuple[str, ...] = ()
    rivals: int = 0
    moved: bool = False

    @property
    def id(self) -> str:
        """The proposal's, or the task's where there is none to decide on."""
        ended = self.state in (TaskState.FAILED, TaskState.STALE)
        return self.task if ended else self.proposal or self.task

    @property
    def standing(self) -> Standing:
        """What it waits for, and its phase; the settings say which role writes it."""
        return standing(self.state, blocked=bool(self.waits))

    @property
    def for_you(self) -> bool:
        """Whether it waits for the developer."""
        return waits_for_developer(self.state, self.landing)

    @property
    def waiting_order(self) -> tuple[bool, str, int]:
        """The order of what waits: what is to be decided or read, oldest first, then what stopped."""
        return self.state in (TaskState.FAILED, TaskState.STALE), self.since, self.number

    @property
    def no_change(self) -> bool:
        """Whether the answer was that no change is needed."""
        read = self.state is TaskState.AWAITING_APPROVAL and self.kind != TaskKind.SCAN
        return read and not (self.proposal or self.report_length or self.suggestions)

    @property
    def existing(self) -> bool:
        """Whether it reviews a change that was there before: there is nothing to land."""
        return self.change != ""

    @property
    def number(self) -> int:
        """The task's number, for sorting."""
        return int(self.task[1:])


class CardReads(Queries):
    """Cards over one connection."""

    def cards(self, since: str) -> list[Card]:
        """Every live task, what waits for the developer, and what ended at or after the UTC time `since`; in the order they
        were given."""
        words = _quoted(LIVE_TASK_STATES | FOR_DEVELOPER)
        live = f"SELECT id FROM tasks WHERE state IN ({words}) UNION SELECT id FROM tasks WHERE since >= ?"
        return [
            _card(row)
            for row in self._all(f"{_CARDS} WHERE p.removed = 0 AND t.id IN ({live}) ORDER BY t.id", since)
        ]

    def waiting_since(self) -> list[str]:
        """Since when (UTC) each task that waits for the developer does, without reading more of it."""
        found = self._all(
            "SELECT t.state, t.since, coalesce((SELECT l.state FROM landings l JOIN proposals a ON a.id = l.proposal_id"
            " WHERE a.task_id = t.id ORDER BY l.id DESC LIMIT 1), '') AS landing FROM tasks t"
            " JOIN projects p ON p.id = t.project_id WHERE p.removed = 0"
            f" AND t.state IN ({_quoted(FOR_DEVELOPER | {TaskState.APPROVED})})"
        )
        return sorted(
            row["since"] for row in found if waits_for_developer(TaskState(row["state"]), row["landing"])
        )

    def cards_of(self, tasks: Iterable[str]) -> list[Card]:
        """The cards of these tasks, whatever their state."""
        numbers = sorted({number_of(identifier, "T") for identifier in tasks})
        return self._cards_in(f"{_CARDS} WHERE p.removed = 0 AND t.id", numbers)

    def cards_about(self, proposals: Iterable[str]) -> list[Card]:
        """The cards of these proposals, in their order; also of earlier ones, and of removed projects.

        Raises:
            NotFound: there is no such proposal.
        """
        wanted = [number_of(identifier, "P") for identifier in proposals]
        sql = _CARDS.replace(_NEWEST, "JOIN proposals a ON a.task_id = t.id")
        found = {card.proposal: card for card in self._cards_in(f"{sql} WHERE a.id", sorted(set(wanted)))}
        names = [proposal_id(number) for number in wanted]
        if unknown := [name for name in names if name not in found]:
            raise NotFound(f"There is no proposal {unknown[0]}.", hint="`navigator proposals` lists them.")
        return [found[name] for name in names]

    def _cards_in(self, sql: str, numbers: Sequence[int]) -> list[Card]:
        made: list[Card] = []
        for start in range(0, len(numbers), _CHUNK):
            chunk = numbers[start : start + _CHUNK]
            marks = ", ".join("?" * len(chunk))
            made.extend(_card(row) for row in self._all(f"{sql} IN ({marks})", *chunk))
        return made

    def data_version(self) -> int:
        """A number that changes when another connection has committed."""
        return int(self._one("PRAGMA data_version"))


def _quoted(states: Collection[TaskState]) -> str:
    return ", ".join(f"'{state.value}'" for state in sorted(states))


def _card(row: sqlite3.Row) -> Card:
    try:
        # By position: finding a column by its name looks through all of them.
        return _card_of(dict(zip(row.keys(), row, strict=True)))
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedRow(f"{task_id(row['task'])} or its newest proposal cannot be read") from error


def _card_of(row: Mapping[str, Any]) -> Card:
    proposal = row["proposal"]
    common = {
        "task": task_id(row["task"]),
        "project_id": row["project_id"],
        "project": row["project"],
        "title": row["title"] or row["text"].lstrip().partition("\n")[0],
        "kind": row["kind"],
        "priority": row["priority"],
        "state": TaskState(row["state"]),
        "round": row["round"],
        "since": row["since"],
        "reason": row["reason"] or (row["landing"] == LandingState.REFUSED and row["why_refused"]) or "",
        "report": row["report_length"] > 0
        or (proposal is None and row["state"] == TaskState.AWAITING_APPROVAL),
        "report_length": row["report_length"],
        "suggestions": row["suggestions"],
        "change": row["of_change"],
        "after": tuple(read_json(row["after"])) if row["after"] != "[]" else (),
        "variant_of": task_id(row["variant_of"]) if row["variant_of"] else "",
        "variant": row["variant"],
        "variants": row["variants"],
        "waits": _held_up_by(row["waits"]) if row["state"] == TaskState.QUEUED else (),
    }
    if proposal is None:
        return Card(**common)
    failed, lost_tests = _failed(row["checks"])
    return Card(
        **common,
        base=row["base"],
        made_on=row["made_on"],
        verdict=_verdict_of(row["verdict"]),
        stated=_verdict_of(row["stated_verdict"]),
        first=_verdict_of(row["first_verdict"]),
        final=_verdict_of(row["final_verdict"]),
        own=_verdict_of(row["own_verdict"]),
        whole=_verdict_of(row["whole_verdict"]),
        proposal=proposal_id(proposal),
        proposal_round=row["proposal_round"],
        open=row["proposal_state"] == "open",
        tree=row["tree"],
        batch=row["batch"],
        self_review=bool(row["self_review"]),
        advice=bool(row["advice"]),
        hunks=row["hunks"] or 0,
        unread=row["unread"] or 0,
        blocking=_blocking(row["findings"]),
        added=row["added"],
        removed=row["removed"],
        paths=tuple(dict.fromkeys(edit["path"] for edit in read_json(row["edits"]))),
        careful=tuple(read_json(row["careful"])) if row["careful"] != "[]" else (),
        confirm=_policy(row["policy"], PolicyAction.CONFIRM),
        refused=_policy(row["policy"], PolicyAction.REFUSE),
        tests=CheckOutcome(row["tests"]) if row["tests"] else None,
        reproduced=row["reproduced"],
        failed=failed,
        lost_tests=lost_tests,
        seen=bool(row["seen"]),
        parent=proposal_id(row["parent"]) if row["parent"] else "",
        landing=row["landing"] or "",
        landing_ref=row["ref"] or "",
    )


def _held_up_by(text: str | None) -> tuple[tuple[str, TaskState], ...]:
    pairs = (one.split(" ") for one in text.split(",")) if text else ()
    return tuple((task_id(int(number)), TaskState(state)) for number, state in pairs)


def _blocking(text: str | None) -> int:
    if text is None or text == "[]":
        return 0
    return sum(item["severity"] in ("blocker", "major") and item["anchored"] for item in read_json(text))


def _verdict_of(word: str | None) -> Verdict | None:
    return Verdict(word) if word else None


def _policy(text: str, action: PolicyAction) -> tuple[tuple[str, str, str], ...]:
    if text == "[]":
        return ()
    found = [item for item in read_json(text) if item["action"] == action.value]
    return tuple((item["rule"], item["path"], item.get("detail", "")) for item in found)


def _failed(text: str) -> tuple[tuple[str, ...], bool]:
    """The names of the checks that failed, and whether the base could be tested and the change could not."""
    failed, untested = CheckOutcome.FAILED.value, CheckOutcome.UNTESTED.value
    if failed not in text and untested not in text:
        return (), False
    checks = read_json(text)
    ran = (CheckOutcome.PASSED.value, failed)
    return (
        tuple(str(check["name"]) for check in checks if check["outcome"] == failed),
        any(check["outcome"] == untested and check.get("before") in ran for check in checks),
    )
