"""`navigator lab judge`: blind comparison of answers in pairs, and what it is worth."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

import click

from navigator.cli import output
from navigator.config.paths import private_folder, state_dir
from navigator.domain.errors import MissingPart, UsageError
from navigator.evidence.intervals import ANECDOTAL_BELOW, Share
from navigator.lab.judging.tally import Duel, Judge, Tally, duel, games, judge_is_usable, tally
from navigator.lab.judging.votes import Vote, read_items, read_votes
from navigator.lab.runs import Plot, Point, Recorder, recording

_ROLES = ("generator", "reviewer", "final")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    type=click.Choice(_ROLES),
    help="Ask this role's server from the settings. Repeatable; three judges make a majority.",
)
@click.option(
    "--votes",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Votes: added to when judges are asked, and counted. Default: in the state folder, by the name of FILE.",
)
@click.option("--counts", metavar="W-L-T", help="Instead: counts that somebody printed, e.g. 5-0-35.")
@output.JSON
def judge(
    file: Path | None, judges: tuple[str, ...], votes: Path | None, counts: str | None, as_json: bool
) -> None:
    """Compare answers in pairs by judges that see no names, each pair in both orders.

    FILE has one task a line: {"task": …, "question": …, "answers": {SYSTEM: text, …}}. A judge's server has to be up; ask one
    judge after the other as the GPU holds them: votes are kept, and what was answered is not asked again. With --votes alone,
    recorded votes are counted.
    """
    if counts is not None:
        _tell_counts(_counted(counts), as_json)
        return
    if file is None and votes is None:
        raise UsageError("Nothing to judge.", hint="Name a file of tasks, --votes, or --counts.")
    kept = votes or private_folder(state_dir() / "lab") / f"votes-{file.stem if file else ''}.jsonl"
    unreadable = 0
    if judges:
        if file is None:
            raise UsageError(
                "Judges need a file of tasks.", hint="Name it: `navigator lab judge FILE --judge …`."
            )
        _require_models(judges)
        unreadable = asyncio.run(_ask(file, judges, kept))
    if not kept.exists():
        raise MissingPart(f"There are no votes in {kept}.", hint="Ask a judge: --judge reviewer.")
    found = read_votes(kept)
    _tell(tally(found), found, kept, unreadable, as_json)


def _require_models(judges: tuple[str, ...]) -> None:
    """Refuse a rehearsal's servers: they run during a session only, and judge nothing.

    Raises:
        UsageError: one of the judges is one.
    """
    from navigator.config.settings import load_settings

    if load_settings().swap.strategy == "rehearsal" and set(judges) - {"final"}:
        raise UsageError(
            "A rehearsal has no judges.",
            hint="Set a strategy under [swap] and the judge's server in the settings, or count recorded votes with --votes.",
        )


async def _ask(file: Path, judges: tuple[str, ...], kept: Path) -> int:
    words = [word for role in judges for word in ("--judge", role)]
    command = ("lab", "judge", str(file.resolve()), *words, "--votes", str(kept.resolve()))
    with recording("judge", kept, command, about=f"{file.name}, judged by {', '.join(judges)}") as record:
        return await _ask_all(file, judges, kept, record)


async def _ask_all(file: Path, judges: tuple[str, ...], kept: Path, record: Recorder) -> int:
    from navigator.config.settings import load_settings
    from navigator.lab.judging.ask import ask, questions
    from navigator.serving.client.client import ModelClient

    settings, items, unreadable = load_settings(), read_items(file), 0
    names = [f"{role}: {getattr(settings, role).model}" for role in dict.fromkeys(judges)]
    total = len(names) * len(questions(items, "", ()))

    def report(line: str = "") -> None:
        if line:
            output.note(line)
        votes = read_votes(kept) if kept.exists() else []
        record.progress(sum(vote.judge in names for vote in votes), total, "votes")
        if votes:
            record.decided(*_so_far(tally(votes)))

    report()
    for role in dict.fromkeys(judges):
        server = getattr(settings, role)
        if not (server.model and server.base_url):
            raise UsageError(
                f"The settings name no server for {role}.", hint="`navigator config show` prints them."
            )
        had = read_votes(kept) if kept.exists() else []
        name = f"{role}: {server.model}"
        async with ModelClient(server) as client:
            await client.require_model()
            unreadable += await ask(client, name, questions(items, name, had), kept, report)
    return unreadable


def _so_far(found: Tally) -> tuple[str, list[Plot]]:
    """One sentence about every pair of systems, and how often the first of each won."""
    sentences = [
        f"{each.one} against {each.other}: {each.wins} won, {each.losses} lost, {each.ties} ties"
        + (f", p = {each.p:.3g}." if each.usable else f". Unusable: {each.reason}.")
        for each in found.duels
    ]
    points = tuple(
        Point(
            label=f"{each.one} over {each.other}",
            value=each.rate.rate,
            low=each.rate.low,
            high=each.rate.high,
            n=each.rate.n,
        )
        for each in found.duels
        if each.rate.rate is not None
    )
    return " ".join(sentences), [Plot(title="Tasks won, ties counted", unit="%", points=points)]


def _counted(text: str) -> Duel:
    try:
        wins, losses, ties = (int(word) for word in text.split("-"))
        if min(wins, losses, ties) < 0 or wins + losses + ties == 0:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"{text} is no count of wins, losses and ties.", hint="E.g. --counts 5-0-35."
        ) from None
    return duel("first", "second", wins, losses, ties)


def _tell(found: Tally, votes: list[Vote], kept: Path, unreadable: int, as_json: bool) -> None:
    from navigator.lab.judging.strength import strengths

    missing = ""
    try:
        ranked = strengths(games(votes))
    except MissingPart as error:
        ranked, missing = [], str(error)
    if as_json:
        output.print_json(
            {
                "votes": len(votes),
                "file": str(kept),
                "judges": [asdict(each) | {"unusable": judge_is_usable(each)} for each in found.judges],
                "duels": list(map(asdict, found.duels)),
                "agreement": asdict(found.agreement),
                "incomplete": found.incomplete,
                "unreadable": unreadable,
                "strengths": list(map(asdict, ranked)),
                "strengths_missing": missing,
            }
        )
        return
    output.emit(
        output.table(
            ("judge", "pairs", "flips", "ties", "named the first", "p", ""), map(_judge_row, found.judges)
        )
    )
    output.say()
    for each in found.duels:
        _tell_duel(each)
    if found.agreement.n:
        output.say(f"All judges agreed on {_share(found.agreement)} of the pairs that several saw.")
    if found.incomplete:
        output.say(f"{found.incomplete} pairs were seen in one order only; they are left out.")
    if unreadable:
        output.say(
            f"{unreadable} answers were no verdict and were not counted; asking again asks those again."
        )
    if ranked:
        output.say()
        rows = [
            (
                row.name,
                f"{row.value:+.2f}",
                f"{row.low:+.2f} to {row.high:+.2f}" if row.low is not None else "–",
                f"{row.wins} of {row.games}",
            )
            for row in ranked
        ]
        output.emit(output.table(("system", "strength", "95 %", "won"), rows, right=(1, 2, 3)))
        output.say("Log strength (Bradley–Terry) from the pairs that a judge decided alike in both orders.")
    elif missing:
        output.say(missing)


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


def _tell_counts(found: Duel, as_json: bool) -> None:
    if as_json:
        output.print_json(asdict(found))
    else:
        _tell_duel(found)


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
