"""Every task that still matters today as one light row, for screens that show thousands at once.

The domain's models cost a validation each; a deck of 10,000 proposals is read in one query here instead, and after an
event only the tasks it names are read again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache, cached_property, lru_cache, partial
from itertools import repeat
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

from navigator.model.errors import NotFound
from navigator.model.ids import PART_BASE, number_of, proposal_id, task_id
from navigator.model.json_text import read_json
from navigator.model.states import (
    FOR_DEVELOPER,
    LIVE_TASK_STATES,
    CheckOutcome,
    DecisionKind,
    PolicyAction,
    ProposalState,
    Role,
    Standing,
    TaskKind,
    TaskState,
    Verdict,
    standing,
    waits_for_developer,
)
from navigator.store.database import translated
from navigator.store.reads.queries import LINKED, MET, Queries, conditions, database_of
from navigator.store.schema import WORLD, DamagedRow

_TEXT = 70
"""Characters of a task's first line."""


def _newest_verdict(role: Role, proposal: str = "a.id", order: str = "DESC", besides: str = "") -> str:
    """The verdict of a role's newest, or first, reading of a proposal, as a subquery."""
    return (
        f"(SELECT verdict FROM reviews WHERE proposal_id = {proposal} AND role = '{role.value}'{besides}"
        f" ORDER BY id {order} LIMIT 1)"
    )


_NEWEST = """LEFT JOIN proposals a ON a.id = (
       SELECT max(id) FROM proposals WHERE task_id = t.id AND attempt = t.attempt AND state <> 'superseded')"""

_PATHS = (
    "CASE WHEN json_valid(a.edits) THEN"
    " (SELECT json_group_array(DISTINCT json_extract(value, '$.path')) FROM json_each(a.edits)) ELSE a.edits END"
)
"""The paths of a proposal, each once: SQLite takes them out of its edits sooner than Python."""

_CARDS = f"""
SELECT t.id AS task, t.project_id, p.name AS project, t.text, t.kind, t.priority, t.state, t.round,
       t.since, length(t.report) AS report_length, nullif(t.after, '[]') AS after, t.variant_of, t.variant, t.base,
       coalesce(nullif(t.reason, ''), CASE WHEN l.state = 'refused' THEN l.reason END, '') AS reason,
       t.report <> '' OR (a.id IS NULL AND t.state = 'awaiting_approval') AS report,
       CASE WHEN t.variant_of IS NOT NULL THEN
           (SELECT count(*) FROM tasks WHERE variant_of = t.variant_of) ELSE 0 END AS variants,
       CASE WHEN t.state = 'queued' AND t.after <> '[]' THEN
           (SELECT group_concat(o.id || ' ' || o.state) FROM {LINKED} WHERE NOT {MET}) END AS waits,
       a.id AS proposal, a.state = 'open' AS open, a.title, a.tree, a.batch, nullif(a.policy, '[]') AS policy, a.added, a.removed,
       CASE WHEN instr(a.checks, 'failed') OR instr(a.checks, 'untested') THEN a.checks END AS checks,
       {_PATHS} AS paths, a.seen, a.round AS proposal_round, a.parent, nullif(a.tests, '') AS tests,
       CASE WHEN EXISTS (SELECT 1 FROM meta WHERE key = '{PART_BASE}' || a.base_commit) THEN '' ELSE a.base_commit END AS made_on,
       t.ref AS change, nullif(p.careful, '[]') AS careful,
       r.verdict, r.stated_verdict AS stated, r.self_review, r.advice <> '' AS advice, nullif(r.findings, '[]') AS found,
       r.hunks, json_array_length(r.unread) AS unread,
       {_newest_verdict(Role.REVIEWER, order="ASC", besides=" AND id <> r.id")} AS first,
       {_newest_verdict(Role.FINAL)} AS final,
       {_newest_verdict(Role.REVIEWER, "a.parent")} AS whole,
       (SELECT count(*) FROM reproductions WHERE review_id = r.id AND outcome IN ('regression', 'unmet')) AS reproduced,
       l.state AS landing, l.ref AS landing_ref,
       (SELECT kind FROM decisions WHERE proposal_id = a.id AND withdrawn = 0) AS decision,
       CASE WHEN t.kind = 'scan' THEN (SELECT count(*) FROM suggestions
            WHERE task_id = t.id AND attempt = t.attempt AND state = 'open') ELSE 0 END AS suggestions
  FROM tasks t
  JOIN projects p ON p.id = t.project_id
  {_NEWEST}
  LEFT JOIN reviews r ON r.id = (
       SELECT max(id) FROM reviews WHERE proposal_id = a.id AND role = 'reviewer')
  LEFT JOIN landings l ON l.id = (SELECT max(id) FROM landings WHERE proposal_id = a.id)
"""


class Card(NamedTuple):
    """One task and its newest proposal that was not superseded, or one that was asked for.

    A named tuple: a frozen dataclass of as many fields takes four times as long to make.

    Attributes:
        text: the beginning of its first line, as `_TEXT` says.
        title: the proposal's, or the task's first line.
        after: the tasks that it comes after.
        waits: those that still hold it up, with their states.
        variant_of: the first of its task's `variants`, of which it is number `variant`; "" where it is written once.
        proposal: its id, or "".
        proposal_round: the round it is from; the task's own is later where a revision came to nothing.
        base: the task's own base, or ""; `made_on` the commit its proposal was made on, "" where that holds another proposal.
        verdict: of its reviewer's newest reading; None while it has none. `stated`: what that reading said itself; `first`,
            `final`, `whole`: the reviewer's first one where it read again, the final model's, and that of
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
        newer: the open proposal that replaced this one; `waits_for`: the part that has to land first; `rival`: the variant of the
            same task that is approved. These three are known where the card was read for a verb (`sheet.marks.read_card`).
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
    decision: DecisionKind | None = None
    overlaps: tuple[str, ...] = ()
    rivals: int = 0
    moved: bool = False
    newer: str = ""
    waits_for: str = ""
    rival: str = ""
    text: str = ""

    @property
    def id(self) -> str:
        """The proposal's, or the task's where there is none to decide on."""
        return self.task if self.stopped else self.proposal or self.task

    @property
    def stopped(self) -> bool:
        """Whether there is nothing to decide on: it failed, or is stale."""
        return self.state in (TaskState.FAILED, TaskState.STALE)

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
        return self.stopped, self.since, self.number

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
    def with_you(self) -> bool:
        """Whether its proposal, or its review, waits for the developer."""
        return self.open and self.state is TaskState.AWAITING_APPROVAL

    @property
    def to_decide(self) -> bool:
        """Whether its proposal can be decided on now."""
        return self.with_you and not self.existing

    @property
    def approved(self) -> bool:
        """Approved and not landed: the landing is due, or was refused."""
        return self.state is TaskState.APPROVED and self.decision is DecisionKind.APPROVE

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
        rows = self._all(f"{_CARDS} WHERE p.removed = 0 AND t.id IN ({live}) ORDER BY t.id", since)
        return _made(rows)

    def cards_in(self, states: Collection[TaskState] | None, project: str | None) -> list[Card]:
        """Every task, or those in some states or of one project, in the order they were given."""
        tests, values = conditions("t", states, project)
        return _made(self._all(f"{_CARDS}{tests} ORDER BY t.id", *values))

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

    def cards_of(self, tasks: Iterable[str], *, removed: bool = False) -> list[Card]:
        """The cards of these tasks, whatever their state; with `removed` also those of removed projects."""
        numbers = sorted({number_of(identifier, "T") for identifier in tasks})
        sql = f"{_CARDS} WHERE {'' if removed else 'p.removed = 0 AND '}t.id"
        return _made(list(self._among(sql, numbers)))

    def cards_about(self, proposals: Iterable[str]) -> list[Card]:
        """The cards of these proposals, in their order; also of earlier ones, and of removed projects.

        Raises:
            NotFound: there is no such proposal.
        """
        wanted = [number_of(identifier, "P") for identifier in proposals]
        sql = _CARDS.replace(_NEWEST, "JOIN proposals a ON a.task_id = t.id")
        rows = list(self._among(f"{sql} WHERE a.id", sorted(set(wanted))))
        found = {card.proposal: card for card in _made(rows)}
        names = [proposal_id(number) for number in wanted]
        if unknown := [name for name in names if name not in found]:
            raise no_proposal(unknown[0])
        return [found[name] for name in names]

    def data_version(self) -> int:
        """A number that changes when another connection has committed."""
        return int(self._one("PRAGMA data_version"))


def no_proposal(identifier: str) -> NotFound:
    """The error for an id that no proposal has."""
    return NotFound(f"There is no proposal {identifier}.", hint="`navigator proposals` lists them.")


def _quoted(states: Collection[TaskState]) -> str:
    return ", ".join(f"'{state.value}'" for state in sorted(states))


def _made(rows: Sequence[sqlite3.Row]) -> list[Card]:
    """A card from each row. Made column by column: a step in Python for each field of ten thousand rows takes far longer."""
    made: list[Card] = []
    if not rows:
        return made
    columns = dict(zip(rows[0].keys(), zip(*rows, strict=True), strict=True))
    try:
        # Into one list: how many it holds tells which row is damaged.
        made.extend(map(Card._make, zip(*(_column(columns, name) for name in Card._fields), strict=False)))
    except (ValueError, KeyError, TypeError) as error:
        damaged = task_id(rows[len(made)]["task"])
        raise DamagedRow(f"{damaged} or its newest proposal cannot be read") from error
    return made


def _column(columns: Mapping[str, Sequence[Any]], field: str) -> Iterable[Any]:
    """What a field has in each row; its default where that is NULL."""
    if field == "title":
        pairs = zip(columns["title"], columns["text"], strict=True)
        return (title or text.lstrip().partition("\n")[0] for title, text in pairs)
    name, read = _readers().get(field, (field, None))
    column, default = columns.get(name), Card._field_defaults.get(field)
    if column is None or column.count(None) == len(column):
        return repeat(default)
    if None in column:
        return (default if held is None else read(held) if read else held for held in column)
    return map(read, column) if read else column


@cache
def _readers() -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """The columns of some fields, and how they are read, by the fields' types; the others are taken as they are."""
    made: dict[str, tuple[str, Callable[[Any], Any]]] = {}
    for name, hint in get_type_hints(Card).items():
        if hint == tuple[str, ...]:
            made[name] = name, names_in
        for kind in (hint, *get_args(hint)):
            if isinstance(kind, type) and issubclass(kind, StrEnum):
                made[name] = name, {member.value: member for member in kind}.__getitem__
            elif kind is bool:
                made[name] = name, bool
    return made | {
        **{name: (name, task_id) for name in ("task", "variant_of")},
        **{name: (name, proposal_id) for name in ("proposal", "parent")},
        "text": ("text", _beginning),
        "waits": ("waits", _held_up_by),
        "blocking": ("found", _blocking),
        "failed": ("checks", _failed),
        "lost_tests": ("checks", _lost_tests),
        "confirm": ("policy", partial(_policy, action=PolicyAction.CONFIRM)),
        "refused": ("policy", partial(_policy, action=PolicyAction.REFUSE)),
    }


def _beginning(text: str) -> str:
    return "".join(text[:_TEXT].splitlines()[:1])


@lru_cache(maxsize=256)
def names_in(listed: str) -> tuple[str, ...]:
    """What a column holds that is a list of names."""
    return tuple(read_json(listed))


def _held_up_by(text: str) -> tuple[tuple[str, TaskState], ...]:
    pairs = (one.split(" ") for one in text.split(","))
    return tuple((task_id(int(number)), TaskState(state)) for number, state in pairs)


def _blocking(text: str) -> int:
    return sum(item["severity"] in ("blocker", "major") and item["anchored"] for item in read_json(text))


def _policy(text: str, action: PolicyAction) -> tuple[tuple[str, str, str], ...]:
    found = [item for item in read_json(text) if item["action"] == action.value]
    return tuple((item["rule"], item["path"], item.get("detail", "")) for item in found)


def _failed(text: str) -> tuple[str, ...]:
    """The names of the checks that failed."""
    return tuple(str(check["name"]) for check in read_json(text) if check["outcome"] == CheckOutcome.FAILED)


def _lost_tests(text: str) -> bool:
    """Whether the base could be tested and the change could not."""
    untested, ran = CheckOutcome.UNTESTED, (CheckOutcome.PASSED, CheckOutcome.FAILED)
    return any(check["outcome"] == untested and check.get("before") in ran for check in read_json(text))


# What `navigator status` reads. It answers at once: no model is imported for it, and none made.

_V = TypeVar("_V")


class GlanceReads(CardReads):
    """Counts and small values over one connection."""

    @cached_property
    def rehearsal(self) -> bool:
        """Whether everything in this store is simulated; it is so from the beginning, or never."""
        return bool(self.meta(WORLD, object))

    def counts(self) -> dict[str, Any]:
        """One glance at everything, for `navigator status`.

        Returns:
            `projects` (n), `tasks` and `proposals` ({state: n}, every state named),
            `waiting` (n tasks that wait for the developer), `oldest_wait` (UTC time or None),
            `unreviewed` (open proposals whose review could not be read),
            `advice` (open proposals whose REVISE is no more than advice),
            `resident` (what the conductor last noted, or None), `last_seq`.
        """
        tasks = self._by_state("tasks")
        proposals = self._by_state("proposals")
        waiting = self.waiting_since()
        return {
            "projects": self._one("SELECT count(*) FROM projects WHERE removed = 0"),
            "tasks": {state.value: tasks.get(state.value, 0) for state in TaskState},
            "proposals": {state.value: proposals.get(state.value, 0) for state in ProposalState},
            "waiting": len(waiting),
            "oldest_wait": waiting[0] if waiting else None,
            "unreviewed": self._open_with(f"r.verdict = '{Verdict.UNREVIEWED.value}'"),
            "advice": self._open_with("r.advice <> ''"),
            "resident": self.meta("resident", str),
            "last_seq": self.last_seq(),
        }

    def newest_event(self, kind: str) -> tuple[str, dict[str, Any]]:
        """When (UTC) the newest event of a kind was, and its data; "" and nothing if there was none.

        Raises:
            DatabaseCorrupt: its data cannot be read.
        """
        found = self._all("SELECT seq, at, data FROM events WHERE kind = ? ORDER BY seq DESC LIMIT 1", kind)
        if not found:
            return "", {}
        return found[0]["at"], self._read(found[0]["data"], dict, f"{found[0]['seq']} of events")

    def places(self) -> list[tuple[int, str, str]]:
        """Number, name and path of every project, by name."""
        found = self._all("SELECT id, name, path FROM projects WHERE removed = 0 ORDER BY name, id")
        return [(row["id"], row["name"], row["path"]) for row in found]

    def has_project(self, name: str) -> bool:
        """Whether there is a project of that name, or was one."""
        return bool(self._all("SELECT 1 FROM projects WHERE name = ?", name))

    def bases_waiting(self) -> list[tuple[int, str, str, str]]:
        """Of what waits for approval: the project's number and path, the base of its own, and the one that new work has."""
        found = self._all(
            "SELECT DISTINCT p.id, p.path, t.base, coalesce(nullif(t.base, ''), p.base) FROM tasks t"
            " JOIN projects p ON p.id = t.project_id WHERE t.state = 'awaiting_approval' AND p.removed = 0"
        )
        return [tuple(row) for row in found]

    def last_seq(self) -> int:
        """The newest event's number, 0 when nothing happened yet."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM events"))

    def meta(self, key: str, kind: type[_V]) -> _V | None:
        """A small stored value (JSON), or None.

        Raises:
            DatabaseCorrupt: it is no `kind`.
        """
        found = self._all("SELECT value FROM meta WHERE key = ?", key)
        return self._read(found[0]["value"], kind, f"{key!r} of meta") if found else None

    def _read(self, column: Any, kind: type[_V], which: str) -> _V:
        """A JSON column that holds a value of one type."""
        try:
            value = read_json(column)
        except (ValueError, TypeError):
            value = ...
        if isinstance(value, kind):
            return value
        raise translated(DamagedRow(f"row {which} cannot be read"), database_of(self._connection)) from None

    def _open_with(self, review: str) -> int:
        """Open proposals whose newest review meets a condition."""
        return int(
            self._one(
                "SELECT count(*) FROM proposals a JOIN reviews r ON r.id ="
                " (SELECT max(id) FROM reviews WHERE proposal_id = a.id AND role <> 'generator')"
                f" WHERE a.state = 'open' AND {review}"
            )
        )

    def _by_state(self, table: str) -> dict[str, int]:
        found = self._all(f"SELECT state, count(*) AS n FROM {table} GROUP BY state")
        return {row["state"]: row["n"] for row in found}
