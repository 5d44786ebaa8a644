"""What the scheduler sees, and what it may ask for. Plain frozen data; the rules are in `navigator.schedule`."""

from __future__ import annotations

from dataclasses import dataclass, field

from navigator.model.states import Role, Standing, TaskKind, TaskState, standing


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task as the scheduler sees it. `since`: when it entered its state, in seconds of the wall clock as the store gives it,
    of the monotonic clock in a snapshot.

    `proving`: it is in `checking` for the tests of its review's findings. `escalated`: the developer asked for its next
    reading by name.
    `group`: the first of the variants of one task; "" where a task is written once.
    `standing`: what it waits for, and its phase.
    `doubt`: how unsure its writer was of the proposal that waits, in bits a token; 0 where that is not known.
    """

    id: str
    project_id: int
    state: TaskState
    priority: int
    order: int
    round: int
    since: float
    files: frozenset[str] = frozenset()
    writer: Role = Role.GENERATOR
    kind: TaskKind = TaskKind.IMPLEMENT
    landing_due: bool = False
    proving: bool = False
    escalated: bool = False
    group: str = ""
    doubt: float = 0.0
    standing: Standing = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "standing", standing(self.state, self.writer, proving=self.proving))


@dataclass(frozen=True, slots=True)
class BatchRules:
    """When a review is due: `[batch]` of the settings, in seconds.

    So many wait (`target`), the oldest has waited `max_wait`, or nothing is left to write and no task came for `quiet`.
    """

    target: int = 30
    max_wait: float = 1800.0
    quiet: float = 0.0


@dataclass(frozen=True, slots=True)
class Doubt:
    """What uncertainty was seen to mean here: a change written with more than `bits` a token is sent back `above` times as often
    as one is on average."""

    bits: float
    above: float


@dataclass(frozen=True, slots=True)
class ExamView:
    """The reviewer's exam as the scheduler sees it.

    Attributes:
        waiting: items to ask, in their order; those that are being asked are not among them.
        running: how many are being asked.
        room: how many more the share of this residency's tokens has room for.
        asked: how many more the developer asked for.
    """

    waiting: tuple[int, ...] = ()
    running: int = 0
    room: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class SchedulerSnapshot:
    """Everything `next_actions` may know.

    Attributes:
        tasks: every task that is not terminal and does not wait for another one.
        blocked: how many do.
        for_you: how many wait for the developer, failed and stale ones included; 0, as `blocked`, while a stage runs.
        busy: ids of tasks that some stage holds right now.
        resident: the role whose model answers now; None when none does or it is not known.
        held_until: monotonic second before which it is not swapped out, because a person loaded it.
        swapping_to: the role a swap under way goes to.
        both_resident: both roles answer at once (strategy `resident`): there is nothing to swap.
        capacity: requests each role may have in flight.
        in_flight: requests each role has in flight.
        unreachable: roles not to be called before the given monotonic second; infinity: given up in this session.
        until: "idle", "reviewed" or "" for a conductor that stays.
        swaps_left: how many more swaps this session may make; None for no limit.
        hurry: the developer asked for a review now.
        wanted: the role that the developer requested; it is loaded whether it has work or not.
        write_seconds: from one written proposal to the next, over all streams.
        doubt: what uncertainty says of the verdict; None unless the statistics show that it says anything.
        lost: the role whose server died; it is loaded again before the other one, if it has something to do.
        last_arrival: monotonic second of the newest task; a decision brings none.
        final_enabled: an optional last review by a cloud model is on.
        exam: the reviewer's exam.
    """

    tasks: tuple[TaskView, ...]
    busy: frozenset[str] = frozenset()
    resident: Role | None = None
    held_until: float = 0.0
    swapping_to: Role | None = None
    both_resident: bool = False
    capacity: dict[Role, int] = field(default_factory=dict)
    in_flight: dict[Role, int] = field(default_factory=dict)
    unreachable: dict[Role, float] = field(default_factory=dict)
    batch: BatchRules = BatchRules()
    write_seconds: float = 10.9
    doubt: Doubt | None = None
    until: str = ""
    swaps_left: int | None = None
    hurry: bool = False
    wanted: Role | None = None
    lost: Role | None = None
    last_arrival: float = 0.0
    final_enabled: bool = False
    exam: ExamView = ExamView()
    blocked: int = 0
    for_you: int = 0


@dataclass(frozen=True, slots=True)
class _OfTask:
    task_id: str


class Generate(_OfTask):
    """Write: round 0, or the revision of a task in `revising`."""


class RunChecks(_OfTask):
    """Run the deterministic gates on what the task's newest answer made."""


class ReviewTask(_OfTask):
    """Have the reviewer read the task's open proposal."""


class FinalReview(_OfTask):
    """Have the cloud model read it last."""


class Renew(_OfTask):
    """Start a new attempt of a stale task."""


class Land(_OfTask):
    """Bring an approved tree to its branch."""


@dataclass(frozen=True, slots=True)
class AskExam:
    """Ask the reviewer about an item of its exam."""

    item_id: int


@dataclass(frozen=True, slots=True)
class SwapTo:
    """Give the GPU to another role."""

    role: Role


@dataclass(frozen=True, slots=True)
class Sleep:
    """Nothing to do before this monotonic second, unless something happens."""

    until: float


@dataclass(frozen=True, slots=True)
class Stop:
    """The session's goal is reached, or nothing more can be done; `reason` says which."""

    reason: str


Action = Generate | RunChecks | ReviewTask | AskExam | FinalReview | Renew | Land | SwapTo | Sleep | Stop
