"""The plain rows that evidence is counted from. The store's records are mapped onto them by whoever asks."""

from __future__ import annotations

from dataclasses import dataclass

from navigator.domain.states import (
    Complexity,
    DecisionKind,
    EditCode,
    Role,
    Rung,
    TaskKind,
    TaskState,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class FirstVerdict:
    """The verdict of one review of one proposal, with all that decides whether it counts.

    Attributes:
        project: its name.
        kind: of the task.
        complexity: of the task, as the developer estimated it.
        model: of the reviewer.
        prompt_version: of the review prompt.
        verdict: derived from grounded findings.
        stated_verdict: what the model itself said; None when that could not be read.
        self_review: the reviewer's own model wrote the change.
        rehearsal: the stand-in reviewed.
        at: UTC, ISO 8601.
        attempt: counts from 0 within the task.
        round: counts from 0 within the attempt.
        derived: the proposal holds only some hunks of another one.
        audit: the proposal was planted to test the reviewer.
    """

    project: str
    kind: TaskKind
    complexity: Complexity
    model: str
    prompt_version: str
    verdict: Verdict
    stated_verdict: Verdict | None
    self_review: bool
    rehearsal: bool
    at: str
    attempt: int = 0
    round: int = 0
    derived: bool = False
    audit: bool = False


@dataclass(frozen=True, slots=True)
class CallRow:
    """One finished model call.

    Attributes:
        role: who was called.
        model: as the server named itself.
        purpose: generate, repair, revise, review …
        ok: it ended with an answer that could be used.
        prompt_tokens: the whole prompt, cached tokens included, as the server counted it.
        completion_tokens: what was written.
        cached_tokens: the part of the prompt that the server had in its prefix cache.
        seconds: wall time of the call at the client.
        at: when it ended, UTC, ISO 8601.
        rehearsal: the stand-in answered.
    """

    role: Role
    model: str
    purpose: str
    ok: bool
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    seconds: float
    at: str
    rehearsal: bool = False


@dataclass(frozen=True, slots=True)
class DecidedRow:
    """One decision of the developer, and the verdict that stood beside the proposal then (None: no review)."""

    verdict: Verdict | None
    decision: DecisionKind
    self_review: bool = False
    audit: bool = False
    rehearsal: bool = False


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task and where it stands."""

    state: TaskState
    rehearsal: bool = False


@dataclass(frozen=True, slots=True)
class EditRound:
    """What became of the edits that one round asked for.

    Attributes:
        rungs: of each edit that applied in the end; empty when none did.
        codes: of each problem met on the way, repairs included; empty when the first answer applied whole.
        rehearsal: the stand-in wrote.
    """

    rungs: tuple[Rung, ...] = ()
    codes: tuple[EditCode, ...] = ()
    rehearsal: bool = False
