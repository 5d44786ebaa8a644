"""What the reviewer's exam says of it, what a second model adds; and the revise rate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from navigator.figures.exam import (
    Backtest,
    Estimate,
    ExamScore,
    Paired,
    backtest,
    exam_score,
    exam_scores,
    paired,
    worth_words,
)
from navigator.figures.intervals import ANECDOTAL_BELOW, Share, newcombe
from navigator.figures.page import (
    SHARE_COLUMNS,
    Column,
    PageQuestion,
    Row,
    Table,
    bounds,
    dash,
    number,
    percent,
    share_rows,
)
from navigator.figures.queries import GROUPINGS, exam_counts, exam_pairs, verdict_counts
from navigator.figures.rates import RateRow, revise_rate
from navigator.model.errors import NotFound, UsageError
from navigator.model.models import Review
from navigator.model.states import PAST, Role
from navigator.model.text import plural
from navigator.store.reads.reader import Reader


def scores(reader: Reader, since: str = "") -> tuple[ExamScore, ...]:
    """Every reviewer that was examined, from a UTC time on; see `exam_scores`."""
    counts = exam_counts(reader, since)
    return exam_scores(counts, verdict_counts(reader, since=since) if counts else ())


def worth_of(found: Sequence[ExamScore], review: Review) -> str:
    """What this reviewer's REVISE is worth, in one sentence; "" where it was not examined at all.

    A later round's review has another version of the prompt: then the newest exam of the same model is meant.
    """
    mine = [one for one in found if one.model == review.model]
    if not mine:
        return ""
    exact = [one for one in mine if one.prompt_version == review.prompt_version]
    return worth_words((exact or mine)[0])


ENOUGH = 12
"""Faulty items that both models answered, from which on it is said what the second one adds."""


SWAPS = 200
"""Newest ones from which it is told what they cost a night."""


@dataclass(frozen=True, slots=True)
class Independence:
    """The writer's model (first) and the reviewer's (second) on the same items; `night` is the seconds of swaps on a day that had
    any, None where there was none."""

    models: Paired
    synthetic: bool
    night: float | None

    @property
    def words(self) -> str:
        """What the second model is worth, or what it would take to know."""
        gain = self.models.sensitivity.gain
        if gain is None or self.models.sensitivity.n < ENOUGH:
            known = f"it takes answers of both to {ENOUGH} faulty exam items, there are {self.models.sensitivity.n}"
            return f"It is not known whether one model could do both: {known}."
        low, high = round(100 * gain.low), round(100 * gain.high)
        cost = "no swap" if self.night is None else f"{max(1, round(self.night / 60))} min of swaps a night"
        on = " of our synthetic cases, which flatter every model" if self.synthetic else ""
        return f"One model could do both; here the second one finds [{low} to {high}] more of 100 faults{on}, for {cost}."


def independence(reader: Reader, since: str = "") -> Independence:
    """What is known of it: from the project's own items, else from those that come with Navigator."""
    own = exam_pairs(reader, "models", since)
    found = paired(own or exam_pairs(reader, "synthetic", since))
    days: dict[str, float] = defaultdict(float)
    for swap in reader.swaps(SWAPS):
        days[swap.started[:10]] += swap.seconds
    return Independence(found, not own, sum(days.values()) / len(days) if days else None)


def read_backtest(reader: Reader, projects: Collection[int] = (), since: str = "") -> tuple[Backtest, str]:
    """The reviewer that answered last, and which that is: model and prompt. Of all projects where none is named."""
    items = {
        item.id: item
        for item in reader.exam_items()
        if item.source in PAST and (not projects or item.project_id in projects)
    }
    mine = [one for one in reader.exam_answers() if one.item_id in items and one.role is Role.REVIEWER]
    given = [one for one in mine if one.at >= since]
    newest = (given[-1].model, given[-1].prompt_version) if given else ("", "")
    mine = [one for one in given if (one.model, one.prompt_version) == newest]
    return backtest((items[one.item_id], one) for one in mine), ", ".join(newest).strip(", ")


def backtest_words(found: Backtest) -> str:
    """The result in one sentence."""
    caught = found.caught
    if not caught.n:
        return "No bug of your history was asked about yet."
    said = f"It would have caught {caught.k} of {plural(caught.n, 'bug')} you shipped ({percent(caught.rate)} {bounds(caught)})"
    if found.alarms_each is not None:
        each = found.alarms_each
        return f"{said}, with {each.value:.1f} false alarms for each [{each.low:.1f}–{each.high:.1f}]."
    alarms = sum(case.asked_for for case in found.innocent)
    return f"{said}; {plural(alarms, 'false alarm')} on {plural(len(found.innocent), 'innocent commit')}."


# The page


def exam_tables(reader: Reader, question: PageQuestion) -> Iterator[Table]:
    """Every reviewer that was examined, the newest first, with what precedents change; the backtest; the second model's worth."""
    since = question.since
    items = [item for item in reader.exam_items() if item.source not in PAST]
    faulty = sum(item.faulty for item in items)
    found = scores(reader, since)
    pairs = exam_pairs(reader, "precedents", since)
    changed = {
        (one.model, one.prompt_version): paired(mine)
        for one in found
        if (
            mine := [
                row for row in pairs if (row.model, row.prompt_version) == (one.model, one.prompt_version)
            ]
        )
    }
    two = independence(reader, since)
    every = [score_document(one, changed.get((one.model, one.prompt_version))) for one in found]
    data = {
        **(every[0] if every else score_document(exam_score())),
        "prepared": {"faulty": faulty, "clean": len(items) - faulty},
        "reviewers": every,
        "independence": {**asdict(two), "sentence": two.words},
    }
    yield Table("", name="exam", data=data)
    for score in found:
        yield _score_table(score)
        if one := changed.get((score.model, score.prompt_version)):
            ways = "without", "with them"
            about = "items that they are near"
            yield _beside_table("WHAT DO PRECEDENTS CHANGE?", one, ways, about, precedents_words(one))
    past, _ = read_backtest(reader, since=since)
    if past.bugs:
        shares = (("bugs, caught", past.caught), ("innocent commits, flagged", past.flagged))
        answer = backtest_words(past)
        yield Table("WOULD IT HAVE CAUGHT YOUR BUGS?", SHARE_COLUMNS, share_rows(shares), answer=answer)
    if two.models.sensitivity.n or two.models.specificity.n:
        about = "synthetic cases: they flatter every model" if two.synthetic else "the same items"
        ways = "by the writer's", "by the reviewer's"
        yield _beside_table("WHAT IS INDEPENDENCE WORTH?", two.models, ways, about, two.words)


def _beside_table(title: str, found: Paired, ways: tuple[str, str], about: str, answer: str) -> Table:
    rows = [
        (f"{what} {way}", one)
        for what, side in (("faulty, caught", found.sensitivity), ("clean, passed", found.specificity))
        for way, one in zip(ways, (side.first, side.second), strict=True)
        if one.n
    ]
    every = share_rows([*rows, ("same verdict", found.agreed)])
    return Table(title, SHARE_COLUMNS, every, about=about, answer=answer)


def precedents_words(changed: Paired) -> str:
    """What a project's precedents do to its reviewer, in a sentence or two."""
    sides = ((changed.sensitivity, "catches", "faults"), (changed.specificity, "passes", "clean changes"))
    said = " and ".join(
        f"{verb} {gained(side.gain)} of 100 {what}" for side, verb, what in sides if side.gain
    )
    hides = changed.sensitivity.gain is not None and changed.sensitivity.gain.high < 0
    more = " They hide faults: `navigator finding --list PROJECT` shows them." if hides else ""
    return f"With precedents it {said}.{more}"


def gained(found: Estimate) -> str:
    """A difference of shares, as `3 more [-2 to 8]`, of 100."""
    low, high = round(100 * found.low), round(100 * found.high)
    return f"{abs(100 * found.value):.0f} {'fewer' if found.value < 0 else 'more'} [{low} to {high}]"


def _score_table(score: ExamScore) -> Table:
    cost = f"{score.tokens:,} tokens, {number(score.seconds)} s of the reviewer"
    unread = f", {score.unreviewed} could not be read" if score.unreviewed else ""
    shares = [
        ("sensitivity: faulty, caught", score.sensitivity),
        ("specificity: clean, passed", score.specificity),
        ("caught at the right place", score.named),
    ]
    return Table(
        "WHAT IS ITS REVISE WORTH?",
        SHARE_COLUMNS,
        (
            *share_rows(shares),
            _estimate("Youden's J", score.youden),
            _estimate("proposals that are faulty", score.faulty_share, score.reason),
            _estimate("REVISE that is right", score.genuine_share, score.reason),
        ),
        answer=worth_words(score),
        facts=(
            ("reviewer", f"{score.model}, {score.prompt_version}"),
            ("verdict", f"{score.verdict}. {score.why}"),
        ),
        notes=(f"{score.answers} answers{unread}: {cost}",),
    )


def _estimate(name: str, found: Estimate | None, why: str = "") -> Row:
    if found is None:
        return Row(name, note=f"refused: {why}" if why else "none yet")
    if name == "Youden's J":
        return Row(name, (f"{found.value:.2f}", f"[{found.low:.2f} to {found.high:.2f}]", ""))
    return Row(name, (percent(found.value), f"[{100 * found.low:.0f}–{100 * found.high:.0f}]", ""))


def score_document(score: ExamScore, precedents: Paired | None = None) -> dict[str, Any]:
    """One reviewer's exam as JSON."""
    same = ("model", "prompt_version", "unreviewed", "reason", "verdict", "why")
    shares = ("sensitivity", "specificity", "named", "revise")
    estimates = ("youden", "faulty_share", "genuine_share")
    return {
        **{name: getattr(score, name) for name in same},
        "items": score.answers,
        "faulty": {"n": score.sensitivity.n, "caught": score.sensitivity.k},
        "clean": {"n": score.specificity.n, "passed": score.specificity.k},
        **{name: getattr(score, name).document() for name in shares},
        "by_source": [
            {"source": row.source, "faulty": row.faulty, **row.right.document()} for row in score.by_source
        ],
        "by_size": [
            {
                "changed_lines": row.size,
                "sensitivity": row.sensitivity.document(),
                "specificity": row.specificity.document(),
            }
            for row in score.by_size
        ],
        **{name: asdict(found) if (found := getattr(score, name)) else None for name in estimates},
        "sentence": worth_words(score),
        "precedents": asdict(precedents) if precedents else None,
        "cost": {"tokens": score.tokens, "seconds": round(score.seconds, 1)},
    }


# How often the reviewer asks for a revision: as a whole, by a property such as the week; and two groups side by side.

_COLUMNS = (
    *(Column("rate"), Column("95 %"), Column("n"), Column("revise", wide=True), Column("approve", wide=True)),
    *(Column("unread"), Column("stated")),
)


def _rate_row(label: str, row: RateRow) -> Row:
    found = _share_of(row)
    cells = (percent(row.rate), bounds(found), f"{row.n:,}", f"{row.revise:,}", f"{row.approve:,}")
    beside = (dash(row.unreviewed), percent(row.stated_rate))
    return Row(label, (*cells, *beside), share=found if row.n else None, note=row.note or mixed(row))


def rate_tables(reader: Reader, question: PageQuestion) -> Iterator[Table]:
    """The revise rate, and beside it that of changes that Navigator did not write."""
    counts = verdict_counts(reader, question.by, question.since)
    whole, grouped = revise_rate(counts, whole=True), revise_rate(counts)
    existing = revise_rate(verdict_counts(reader, since=question.since, existing=True), whole=True).rows
    left = ", ".join(f"{n:,} {why.replace('_', ' ')}" for why, n in sorted(whole.excluded.items()))
    yield Table(
        "REVISE RATE",
        _COLUMNS,
        tuple(_rate_row("all", row) for row in whole.rows),
        about="first-round verdicts",
        empty=f"no first-round verdict counts; not counted: {left}" if left else "",
        notes=(f"not counted: {left}",) if left and whole.rows else (),
        name="revise_rate",
        data={
            "by": question.by,
            "rows": [asdict(row) for row in grouped.rows],
            "excluded": whole.excluded,
            "existing": [asdict(row) for row in existing],
        },
    )
    if question.by:
        title, weeks = f"BY {question.by.replace('-', ' ').upper()}", question.by == "week"
        yield Table(title, _COLUMNS, tuple(_rate_row(row.group, row) for row in grouped.rows), periods=weeks)
    about = "first verdicts on changes that Navigator did not write; not part of the revise rate"
    yield Table("EXISTING CHANGES", _COLUMNS, tuple(_rate_row("all", row) for row in existing), about=about)


def mixed(row: RateRow) -> str:
    """What a row mixes, in words; "" where it is about one combination of versions."""
    return f"mixes {row.versions} versions" if row.versions > 1 else ""


def _share_of(row: RateRow) -> Share:
    return Share(row.revise, row.n, row.rate, row.low, row.high)


# Two groups side by side: two prompt versions, two models, two projects.

ONE_LOOK = "the interval holds for one look at verdicts that were not chosen by their result"


def comparison(reader: Reader, first: str, second: str, by: str = "", since: str = "") -> Table:
    """The revise rates of two groups, and their difference.

    Args:
        first, second: names of groups, such as two prompt versions.
        by: the property they are values of, one of `GROUPINGS`; "" for the first one that has both.
        since: a UTC time as the store writes it; only verdicts from then on.

    Raises:
        UsageError: both names are the same.
        NotFound: no property has both names.
    """
    if first == second:
        raise UsageError(f"{first!r} is one group.", hint="Name two.")
    known: dict[str, None] = {}
    for name in (by,) if by else GROUPINGS:
        groups = {row.group: row for row in revise_rate(verdict_counts(reader, name, since)).rows}
        known |= dict.fromkeys(groups)
        if first in groups and second in groups:
            return _beside(name, groups[first], groups[second])
    hint = "`navigator stats reviewer --by writer-prompt` lists the prompt versions; --by names the property."
    raise NotFound(
        f"{first!r} and {second!r} are not values of the same property.",
        hint=f"There are: {', '.join(known) or 'none'}." if by else hint,
    )


def _beside(by: str, one: RateRow, other: RateRow) -> Table:
    data: dict[str, Any] = {
        "by": by,
        "first": asdict(one),
        "second": asdict(other),
        "difference": None,
        "low": None,
        "high": None,
    }
    said = "one of them has no verdict"
    if one.rate is not None and other.rate is not None:
        low, high = newcombe(one.revise, one.n, other.revise, other.n)
        difference = one.rate - other.rate
        data |= {"difference": difference, "low": low, "high": high}
        shown = "no difference shown" if low <= 0 <= high else "a difference is shown"
        said = (
            f"{100 * difference:+.0f} points, 95 % {100 * low:+.0f} to {100 * high:+.0f} (Newcombe); {shown}"
        )
    rows = tuple(Row(row.group, _rate_row("", row).cells[:4], note=row.note) for row in (one, other))
    facts = [("Difference", said)]
    facts += [("Mixture", f"{row.group} {mixed(row)}") for row in (one, other) if mixed(row)]
    few = (f"anecdotal: n below {ANECDOTAL_BELOW}",) if one.note or other.note else ()
    title = f"REVISE RATE BY {by.replace('-', ' ').upper()}"
    return Table(
        title, _COLUMNS[:4], rows, facts=tuple(facts), notes=(*few, ONE_LOOK), name="comparison", data=data
    )
