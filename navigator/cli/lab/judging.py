"""`navigator lab compare --judge`: what blind judges say of the answers that were compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigator.cli import output
from navigator.figures.intervals import ANECDOTAL_BELOW, Share
from navigator.lab.judging.tally import Duel, Judge, Tally, judge_is_usable, tally
from navigator.lab.judging.votes import Item, Vote, read_votes
from navigator.model.errors import UsageError
from navigator.model.text import plural

if TYPE_CHECKING:
    from navigator.config.settings import Settings
    from navigator.lab.comparing.journal import LabTask
    from navigator.lab.comparing.session import Finished


@dataclass(frozen=True, slots=True)
class Judged:
    """What all votes of a comparison say. `unreadable` answers were no verdict and are asked again next time."""

    found: Tally
    votes: int
    unreadable: int

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "votes": self.votes,
            "judges": [asdict(each) | {"unusable": judge_is_usable(each)} for each in self.found.judges],
            "duels": list(map(asdict, self.found.duels)),
            "agreement": asdict(self.found.agreement),
            "incomplete": self.found.incomplete,
            "unreadable": self.unreadable,
        }


def require_judges(settings: Settings, judges: Sequence[str]) -> None:
    """Refuse judges that the settings name no server for, and a rehearsal's, which judge nothing.

    Raises:
        UsageError: one of the judges is one.
    """
    if settings.swap.strategy == "rehearsal" and set(judges) - {"final"}:
        raise UsageError(
            "A rehearsal has no judges.",
            hint="Set a strategy under [swap] and the judge's server in the settings.",
        )
    for role in judges:
        server = getattr(settings, role)
        if not (server.model and server.base_url):
            raise UsageError(
                f"The settings name no server for {role}.", hint="`navigator config show` prints them."
            )


async def judged(
    settings: Settings, judges: Sequence[str], tasks: Sequence[LabTask], done: Finished, kept: Path
) -> Judged:
    """Ask the judges what they have not answered yet, and count all votes.

    Args:
        kept: the file of the comparison's votes.

    Raises:
        ServingError: a judge's server cannot be reached or refuses.
    """
    from navigator.client.client import ModelClient
    from navigator.lab.judging.ask import ask, questions

    items = [
        Item(
            task=task.key,
            question=task.text,
            answers={arm: done.answers[arm][task.key] for arm in done.answers},
        )
        for task in tasks
    ]
    unreadable = 0
    for role in dict.fromkeys(judges):
        server = getattr(settings, role)
        name = f"{role}: {server.model}"
        async with ModelClient(server) as client:
            await client.require_model()
            unreadable += await ask(client, name, questions(items, name, votes(kept)), kept, output.note)
    found = votes(kept)
    return Judged(tally(found), len(found), unreadable)


def votes(kept: Path) -> list[Vote]:
    """The votes of a file; none where there is no file yet."""
    return read_votes(kept) if kept.exists() else []


def tell(result: Judged) -> None:
    """The tables, for people."""
    found = result.found
    output.say()
    heads = ("judge", "pairs", "flips", "ties", "named the first", "p", "")
    output.emit(output.table(heads, map(_judge_row, found.judges)))
    output.say()
    for each in found.duels:
        _tell_duel(each)
    if found.agreement.n:
        output.say(f"All judges agreed on {_share(found.agreement)} of the pairs that several saw.")
    if found.incomplete:
        output.say(f"{plural(found.incomplete, 'pair')} left out: seen in one order only.")
    if result.unreadable:
        output.say(
            f"{plural(result.unreadable, 'answer')} without a verdict, not counted; the same command asks again."
        )


def _judge_row(each: Judge) -> tuple[object, ...]:
    return (
        each.name,
        each.pairs,
        _share(each.flips),
        _share(each.ties),
        _share(each.first),
        f"{each.position_p:.3g}",
        f"unusable: {why}" if (why := judge_is_usable(each)) else "",
    )


def _tell_duel(found: Duel) -> None:
    output.say(
        f"{found.one} against {found.other}: {found.wins} won, {found.losses} lost, {found.ties} ties; won"
        f" {_share(found.rate)}, sign test p = {found.p:.4g}.",
        bold=True,
    )
    if not found.usable:
        output.say(f"  Unusable: {found.reason}.")


def _share(found: Share) -> str:
    if found.rate is None:
        return "–"
    note = ", anecdotal" if found.n < ANECDOTAL_BELOW else ""
    return f"{found.rate:.0%} ({found.low:.0%}–{found.high:.0%}, n = {found.n}{note})"
