"""Choosing the draft length while a model writes, by its utility: the control loop of Cascade (arXiv 2506.20675). Pure.

Utility is the tokens of an iteration ÷ its time, both relative to plain decoding, where an iteration is one token in one
step. The time of a token is the plain one ÷ utility, so above 1 speculation gains. The loop alternates:

- a *test* tries a few lengths for a few iterations each, uphill: on in the same direction while utility rises, back to the
  other side where it falls. It ends at a local maximum, where utility hardly changes, or at 0;
- a *set* phase stays with the best length. Each time that is 0, the next set phase is twice as long (back-off), so that
  tests which find nothing become rare. It is short again as soon as a test finds a gain.

The time of a plain step is learnt first and renewed from time to time. On a server whose draft length is a launch flag the
same loop runs over residencies, one outcome each.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """The loop's constants; the defaults are the published ones.

    Attributes:
        base: plain iterations that teach the time of a step.
        renew: iterations after which it is learnt again.
        test: iterations of one trial.
        trials: most trials of a test.
        hold: iterations of a set phase.
        same: a change of utility by this share or less ends a test.
        longest: greatest draft length.
        start: length of the first trial.
        back_off: double the set phase each time it is plain.
    """

    base: int = 4
    renew: int = 100
    test: int = 4
    trials: int = 4
    hold: int = 16
    same: float = 0.10
    longest: int = 16
    start: int = 1
    back_off: bool = True


class Controller:
    """Says the draft length of the next iteration (`gamma`) and learns from its outcome (`observe`).

    Attributes:
        gamma: of the next iteration; 0 is plain decoding.
        tested: iterations that belonged to tests so far.
    """

    def __init__(self, tuning: Tuning | None = None) -> None:
        self.tuning = tuning or Tuning()
        self.tested = 0
        self._start = max(1, min(self.tuning.start, self.tuning.longest))
        self._step_seconds = 0.0
        self._loop = self._run()
        self.gamma = next(self._loop)

    def observe(self, tokens: float, seconds: float) -> int:
        """Take in what one iteration at `gamma` yielded; returns the length of the next."""
        self.gamma = self._loop.send((tokens, seconds))
        return self.gamma

    # Written as a generator, the loop reads as it runs: each `yield` is one iteration.

    def _run(self) -> Generator[int, tuple[float, float], None]:
        hold = self.tuning.hold
        since = self.tuning.renew
        while True:
            if since >= self.tuning.renew:
                _, seconds = yield from self._iterations(0, self.tuning.base)
                self._step_seconds = seconds / self.tuning.base
                since = 0
            before = self.tested
            utilities = yield from self._test()
            best = max(utilities, key=utilities.__getitem__)
            self._start = max((gamma for gamma in utilities if gamma), key=utilities.__getitem__)
            if best:
                hold = self.tuning.hold
            yield from self._iterations(best, hold)
            since += self.tested - before + hold
            if not best and self.tuning.back_off:
                hold *= 2

    def _test(self) -> Generator[int, tuple[float, float], dict[int, float]]:
        """Utility by tried length; plain decoding has 1."""
        found = {0: 1.0}
        gamma, direction, last = self._start, 0, 0.0
        for trial in range(self.tuning.trials):
            tokens, seconds = yield from self._iterations(gamma, self.tuning.test)
            self.tested += self.tuning.test
            utility = found[gamma] = tokens * self._step_seconds / seconds if seconds else 0.0
            if trial and abs(utility - last) <= self.tuning.same * last:
                break
            if trial == 0:
                direction = 1 if utility >= 1 else -1
            elif utility < last:
                # Past the maximum: what is left is the other side of the trial before.
                direction, gamma = -direction, gamma - direction
            last = utility
            gamma += direction
            if gamma in found or gamma > self.tuning.longest:
                break
        return found

    def _iterations(self, gamma: int, count: int) -> Generator[int, tuple[float, float], tuple[float, float]]:
        """So many iterations at one length: their tokens and seconds."""
        tokens = seconds = 0.0
        for _ in range(count):
            more, took = yield gamma
            tokens += more
            seconds += took
        return tokens, seconds


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded generation, replayable at any draft length.

    Attributes:
        accepted: for each token's position, how many of the drafts that follow it would be accepted.
        costs: seconds (or steps) of a round by draft length, 0 included.
    """

    accepted: tuple[int, ...]
    costs: Mapping[int, float]

    def round(self, position: int, gamma: int) -> int:
        """Tokens of a round that starts at a position."""
        return min(1 + min(self.accepted[position], gamma), len(self.accepted) - position)


@dataclass(frozen=True, slots=True)
class Replay:
    """Time of a trace under each policy, relative to plain decoding (below 1 is faster).

    Attributes:
        static: draft length → time with that length throughout.
        controlled: with the controller.
        oracle: with the best possible choice at every round.
        tested: share of the controller's iterations spent in tests.
        worst_slowdown: how much slower than plain the controller was over any stretch of `stretch` tokens.
    """

    tokens: int
    static: dict[int, float]
    controlled: float
    oracle: float
    tested: float
    worst_slowdown: float
    stretch: int


def replay(trace: Trace, tuning: Tuning | None = None, *, stretch: int = 1000) -> Replay:
    """Run the controller over a trace, beside every static length and the best that was possible."""
    tuning = tuning or Tuning(longest=max(trace.costs))
    total = len(trace.accepted)
    plain = total * trace.costs[0]
    controller = Controller(tuning)
    position, seconds, rounds = 0, 0.0, 0
    marks = [(0, 0.0)]
    while position < total:
        gamma = controller.gamma if controller.gamma in trace.costs else 0
        tokens = trace.round(position, gamma)
        position += tokens
        seconds += trace.costs[gamma]
        rounds += 1
        marks.append((position, seconds))
        controller.observe(tokens, trace.costs[gamma])
    return Replay(
        tokens=total,
        static={gamma: _static(trace, gamma) / plain for gamma in sorted(trace.costs)},
        controlled=seconds / plain,
        oracle=_oracle(trace) / plain,
        tested=controller.tested / rounds,
        worst_slowdown=_worst(marks, trace.costs[0], min(stretch, total)),
        stretch=min(stretch, total),
    )


def _static(trace: Trace, gamma: int) -> float:
    position, seconds = 0, 0.0
    while position < len(trace.accepted):
        position += trace.round(position, gamma)
        seconds += trace.costs[gamma]
    return seconds


def _oracle(trace: Trace) -> float:
    """The least time, by dynamic programming from the end."""
    total = len(trace.accepted)
    least = [0.0] * (total + 1)
    for position in range(total - 1, -1, -1):
        least[position] = min(
            cost + least[position + trace.round(position, gamma)] for gamma, cost in trace.costs.items()
        )
    return least[0]


def _worst(marks: list[tuple[int, float]], step: float, stretch: int) -> float:
    """The greatest slow-down over stretches of at least so many tokens; negative where every stretch gained."""
    worst = -1.0
    first = 0
    for position, seconds in marks:
        while first + 1 < len(marks) and marks[first + 1][0] <= position - stretch:
            first += 1
        began, spent = marks[first]
        if position - began >= stretch:
            worst = max(worst, (seconds - spent) / ((position - began) * step) - 1)
    return worst


def slowdown_of_tests(test: int, hold: int, cost: float) -> float:
    """Time of a test and the plain phase after it, relative to plain decoding; a tested iteration takes `cost`."""
    return (hold + test * cost) / (hold + test)


def test_iterations(iterations: int, test: int, hold: int) -> float:
    """Iterations spent in tests, on average, when every set phase has the same length."""
    return iterations / (test + hold) * test


def test_iterations_backing_off(iterations: int, test: int, hold: int) -> int:
    """The same with back-off, when every test ends after its first trial without a gain."""
    controller = Controller(Tuning(test=test, hold=hold, base=1, renew=10 * iterations))
    controller.observe(1, 1)  # the plain step that teaches the base
    for _ in range(iterations):
        # A draft that is never accepted and doubles the time: the test ends at γ = 1.
        controller.observe(1, 2 if controller.gamma else 1)
    return controller.tested
