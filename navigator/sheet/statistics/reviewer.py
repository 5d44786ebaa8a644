"""What the reviewer's exam says of it, what tests of its findings showed, and whether a writer's uncertainty tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from navigator.figures.exam import (
    CANNOT_TELL,
    Backtest,
    Estimate,
    ExamScore,
    Paired,
    SizeScore,
    SourceScore,
    paired,
    worth_words,
)
from navigator.figures.intervals import ANECDOTAL_BELOW, Share, share
from navigator.figures.reproductions import Afterlives, FindingTests, Groups, Proved, finding_tests
from navigator.figures.uncertainty import NOT_RELATED, OPPOSITE, RELATED, TOO_FEW, Relation, relations
from navigator.model.states import PAST
from navigator.model.text import plural
from navigator.sheet.exam_worth import Independence, backtest_words, independence, read_backtest, scores
from navigator.sheet.statistics.page import (
    SHARE_COLUMNS,
    Column,
    PageQuestion,
    Row,
    StatisticsPage,
    Table,
    bounds,
    number,
    percent,
    rows_of,
    share_table,
)
from navigator.store.reads.reader import Reader

_COLUMNS = SHARE_COLUMNS


@dataclass(frozen=True, slots=True)
class Exam:
    """Every reviewer that was examined, the newest first, how many items there are (faulty, clean), the backtest; and by model
    and version of the prompt, what the project's precedents change."""

    scores: tuple[ExamScore, ...]
    faulty: int
    clean: int
    past: Backtest | None = None
    precedents: Mapping[tuple[str, str], Paired] = field(default_factory=dict)
    independence: Independence | None = None


def _read_exam(reader: Reader, question: PageQuestion) -> Exam:
    items = [item for item in reader.exam_items() if item.source not in PAST]
    faulty = sum(item.faulty for item in items)
    pairs = reader.exam_pairs("precedents", question.since)
    asked = {(row.model, row.prompt_version) for row in pairs}
    changed = {by: paired(row for row in pairs if (row.model, row.prompt_version) == by) for by in asked}
    past, _ = read_backtest(reader, since=question.since)
    return Exam(
        scores(reader, question.since),
        faulty,
        len(items) - faulty,
        past,
        changed,
        independence(reader, question.since),
    )


def _exam_tables(found: Exam) -> Sequence[Table]:
    tables: list[Table] = []
    for score in found.scores:
        verdict, *more = _score_tables(score)
        changed = found.precedents.get((score.model, score.prompt_version))
        tables += [verdict, *([_changed(changed)] if changed else []), *more]
    if found.past is not None and found.past.bugs:
        shares = (("bugs, caught", found.past.caught), ("innocent commits, flagged", found.past.flagged))
        answer = backtest_words(found.past)
        tables.append(Table("WOULD IT HAVE CAUGHT YOUR BUGS?", _COLUMNS, _share_rows(shares), answer=answer))
    two = found.independence
    if two is not None and (two.models.sensitivity.n or two.models.specificity.n):
        about = "synthetic cases: they flatter every model" if two.synthetic else "the same items"
        ways = ("by the writer's", "by the reviewer's")
        tables.append(_beside_table("WHAT IS INDEPENDENCE WORTH?", two.models, ways, about, two.words))
    return tables


def _changed(found: Paired) -> Table:
    words = ("without", "with them"), "items that they are near", precedents_words(found)
    return _beside_table("WHAT DO PRECEDENTS CHANGE?", found, *words)


def _beside_table(title: str, found: Paired, ways: tuple[str, str], about: str, answer: str) -> Table:
    rows = [
        (f"{what} {way}", share)
        for what, side in (("faulty, caught", found.sensitivity), ("clean, passed", found.specificity))
        for way, share in zip(ways, (side.first, side.second), strict=True)
        if share.n
    ]
    return Table(
        title, _COLUMNS, _share_rows([*rows, ("same verdict", found.agreed)]), about=about, answer=answer
    )


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


def _score_tables(score: ExamScore) -> Sequence[Table]:
    version = f"{score.model}, {score.prompt_version}"
    cost = f"{score.tokens:,} tokens, {number(score.seconds)} s of the reviewer"
    unread = f", {score.unreviewed} could not be read" if score.unreviewed else ""
    verdict = Table(
        "WHAT IS ITS REVISE WORTH?",
        _COLUMNS,
        (
            *_share_rows(
                (
                    ("sensitivity: faulty, caught", score.sensitivity),
                    ("specificity: clean, passed", score.specificity),
                    ("caught at the right place", score.named),
                )
            ),
            _estimate("Youden's J", score.youden),
            _estimate("proposals that are faulty", score.faulty_share, score.reason),
            _estimate("REVISE that is right", score.genuine_share, score.reason),
        ),
        answer=worth_words(score),
        headline=score.verdict,
        facts=(
            ("reviewer", version),
            ("verdict", f"{score.verdict}. {score.why}"),
            ("basis", score.basis),
        ),
        notes=(f"{score.answers} answers{unread}: {cost}",),
    )
    return (
        verdict,
        Table("BY SOURCE", _COLUMNS, _share_rows(map(_source, score.by_source)), about=version),
        Table("BY CHANGED LINES", _COLUMNS, _share_rows(_sizes(score.by_size)), about=version),
    )


def _estimate(name: str, found: Estimate | None, why: str = "") -> Row:
    if found is None:
        return Row(name, note=f"refused: {why}" if why else "none yet")
    if name == "Youden's J":
        return Row(name, (f"{found.value:.2f}", f"[{found.low:.2f} to {found.high:.2f}]", ""))
    return Row(name, (percent(found.value), f"[{100 * found.low:.0f}–{100 * found.high:.0f}]", ""))


def _share_rows(named: Iterable[tuple[str, Share]]) -> tuple[Row, ...]:
    return rows_of(_COLUMNS, named, share=lambda found: found)


def _source(row: SourceScore) -> tuple[str, Share]:
    kind = "caught" if row.faulty else "passed"
    name = row.source.replace("_", " ")
    return name if row.source == "clean" else f"{name}, {kind}", row.right


def _sizes(rows: Iterable[SizeScore]) -> Iterable[tuple[str, Share]]:
    for row in rows:
        pairs = ((f"{row.size}, caught", row.sensitivity), (f"{row.size}, passed", row.specificity))
        yield from ((label, found) for label, found in pairs if found.n)


# The document


def _exam_document(found: Exam) -> dict[str, Any]:
    """The newest reviewer's exam; `reviewers` has all of them."""
    every = [
        score_document(score, found.precedents.get((score.model, score.prompt_version)))
        for score in found.scores
    ]
    pairs = found.independence
    two = {**asdict(pairs), "sentence": pairs.words} if pairs else None
    first = every[0] if every else score_document(_NOBODY)
    return {
        **first,
        "prepared": {"faulty": found.faulty, "clean": found.clean},
        "reviewers": every,
        "independence": two,
    }


_NOBODY = ExamScore(
    model="",
    prompt_version="",
    answers=0,
    unreviewed=0,
    basis="",
    sensitivity=share(0, 0),
    specificity=share(0, 0),
    named=share(0, 0),
    by_source=(),
    by_size=(),
    youden=None,
    revise=share(0, 0),
    faulty_share=None,
    genuine_share=None,
    reason="no item has been answered",
    small_better=None,
    verdict=CANNOT_TELL,
    why="No item has been answered.",
    tokens=0,
    seconds=0.0,
    newest="",
)


def score_document(score: ExamScore, precedents: Paired | None = None) -> dict[str, Any]:
    """One reviewer's exam as JSON."""
    return {
        "model": score.model,
        "prompt_version": score.prompt_version,
        "items": score.answers,
        "unreviewed": score.unreviewed,
        "counted_from": score.basis,
        "faulty": {"n": score.sensitivity.n, "caught": score.sensitivity.k},
        "clean": {"n": score.specificity.n, "passed": score.specificity.k},
        "sensitivity": _share(score.sensitivity),
        "specificity": _share(score.specificity),
        "named": _share(score.named),
        "by_source": [
            {"source": row.source, "faulty": row.faulty, **_share(row.right), "named": _share(row.named)}
            for row in score.by_source
        ],
        "by_size": [
            {
                "changed_lines": row.size,
                "sensitivity": _share(row.sensitivity),
                "specificity": _share(row.specificity),
            }
            for row in score.by_size
        ],
        "youden": _interval(score.youden),
        "revise_rate": _share(score.revise),
        "faulty_share": _interval(score.faulty_share),
        "genuine_share": _interval(score.genuine_share),
        "reason": score.reason,
        "verdict": score.verdict,
        "why": score.why,
        "sentence": worth_words(score),
        "precedents": asdict(precedents) if precedents else None,
        "cost": {"tokens": score.tokens, "seconds": round(score.seconds, 1)},
    }


def _share(found: Share) -> dict[str, Any]:
    return {
        "value": found.rate,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "note": "anecdotal" if found.n < ANECDOTAL_BELOW else "",
    }


def _interval(found: Estimate | None) -> dict[str, float] | None:
    return asdict(found) if found is not None else None


EXAM: StatisticsPage[Exam] = StatisticsPage(
    name="exam",
    title="Exam",
    help="What the reviewer catches and misses in changes whose right verdict is known, and how often its REVISE is right.",
    missing="No exam item answered yet. `navigator exam prepare` makes items.",
    read=_read_exam,
    tables=_exam_tables,
    document=_exam_document,
)

# Findings whose tests were run

_FINDING_COLUMNS = (
    *(Column(column.name, lambda one, of=column.of: of(one.reproduced)) for column in SHARE_COLUMNS),  # type: ignore[misc]
    Column("could not run", lambda one: str(one.could_not), wide=True),
    Column("regression", lambda one: str(one.regressions), wide=True),
    Column("unmet", lambda one: str(one.unmet), wide=True),
)


def _judged_tables(judged: Groups) -> Sequence[Table]:
    every = judged[""].get("all")
    if every is None:
        return ()
    whole = f"{every.k} of {every.n} findings that you judged were right {bounds(every)}."
    rows = [("all", every), *(pair for by in judged if by for pair in judged[by].items())]
    return (Table("FINDINGS JUDGED RIGHT", _COLUMNS, _share_rows(rows), about="by you", answer=whole),)


def _finding_tables(tests: FindingTests) -> Sequence[Table]:
    return (*_judged_tables(tests.judged), *_afterlife_tables(tests.afterlife), *_reproduced_tables(tests))


def _afterlife_tables(found: Afterlives | None) -> Sequence[Table]:
    if found is None or not (found.fixed.n or found.unknown):
        return ()
    unknown = "not known: not on the base, or the line is not the one that was quoted"
    if not found.fixed.n:
        return (Table("FINDINGS THAT LANDED", empty=f"{found.unknown:,} {unknown}"),)
    of = plural(found.fixed.n, "finding")
    answer = (
        f"Of {of} that landed unrepaired, a fix changed the line of {found.fixed.k} {bounds(found.fixed)}."
    )
    named = (("a fix changed the line", found.fixed), ("another commit did", found.changed))
    table = share_table(
        "FINDINGS THAT LANDED",
        (*named, *((f"  a fix: {sort}", one) for by in found.by.values() for sort, one in by.items())),
        "within eight weeks",
        ((found.unknown, unknown),),
    )
    return (replace(table, answer=answer),)


def _reproduced_tables(tests: FindingTests) -> Sequence[Table]:
    if not tests.all.reproduced.n and not tests.all.could_not:
        return ()

    def rows(found: Iterable[Proved], *, detail: bool = False) -> tuple[Row, ...]:
        named = ((one.name, one) for one in found)
        return rows_of(_FINDING_COLUMNS, named, share=lambda one: one.reproduced, detail=detail)

    notes = ["only findings whose test ran count; a faked proof counts as not reproduced"]
    if tests.all.could_not:
        notes.append(f"{tests.all.could_not:,} more had no test that could be run")
    return (
        Table(
            "FINDINGS REPRODUCED",
            _FINDING_COLUMNS,
            (*rows([tests.all]), *rows((*tests.by_severity, *tests.by_criterion), detail=True)),
            about="by a test, in the sandbox",
            notes=tuple(notes),
        ),
        share_table(
            "WHAT FOLLOWED",
            (
                ("passes on the revision", tests.met),
                ("requirements confirmed", tests.met_unmet),
                ("approved, one reproduced", tests.approved_proved),
                ("approved, none reproduced", tests.approved_other),
            ),
            "revisions, and your decisions",
        ),
    )


FINDINGS: StatisticsPage[FindingTests] = StatisticsPage(
    name="findings",
    title="Findings",
    help="How many findings you judged right, how many a test reproduced, by severity and criterion, and what followed.",
    missing="No finding was judged or had a test yet.",
    read=lambda reader, question: finding_tests(
        reader.reproduction_counts(question.since),
        reader.reproduced_decisions(question.since),
        reader.judgement_counts(question.since),
        reader.afterlife_counts(question.since),
    ),
    tables=_finding_tables,
)

# Whether the entropy of a change says anything about its verdict

_RELATION_COLUMNS = (
    Column("n", lambda one: f"{one.n:,}"),
    Column("AUC", lambda one: number(one.auc, 2)),
    Column("95 %", lambda one: f"[{one.low:.2f}–{one.high:.2f}]" if one.auc is not None else ""),
    Column("REVISE", lambda one: number(one.revise_mean, 2)),
    Column("APPROVE", lambda one: number(one.approve_mean, 2)),
)


def _uncertainty_tables(found: Sequence[Relation]) -> Sequence[Table]:
    if not found:
        return ()
    notes = (
        "AUC: pairs in which REVISE has the higher entropy; 0.50 says nothing",
        "REVISE, APPROVE: mean bits a token of changes with that first verdict",
    )
    told = [one for one in found if one.verdict is not TOO_FEW]
    named = ((f"{one.measure} entropy, {one.model}", one) for one in told)
    rows = rows_of(_RELATION_COLUMNS, named, note=lambda one: one.verdict)
    answer = sentence(found)
    return (
        Table("DOES UNCERTAINTY TELL?", _RELATION_COLUMNS, rows, answer=answer, notes=notes if rows else ()),
    )


def sentence(found: Sequence[Relation]) -> str:
    """What the mean entropy says, of the writer with the most verdicts."""
    best = max(found, key=lambda one: (one.measure == "mean", one.n))
    n = f"{best.n} first verdicts"
    words = {
        RELATED: f"Yes: changes that are sent back were written with more uncertainty ({n}).",
        OPPOSITE: f"The other way round: changes that are sent back were written with less uncertainty ({n}).",
        NOT_RELATED: f"Not related so far ({n}): it decides nothing but the order within a batch.",
        TOO_FEW: f"Too few to tell: {n}; {ANECDOTAL_BELOW} with each outcome are needed.",
    }
    return words[best.verdict]


UNCERTAINTY: StatisticsPage[Sequence[Relation]] = StatisticsPage(
    name="uncertainty",
    title="Uncertainty",
    help="Whether changes that are sent back were written with a higher entropy: AUC with its interval.",
    missing="No change with a known entropy has a verdict yet. `[generator] logprobs` asks the server for it.",
    read=lambda reader, question: relations(reader.entropy_ranks(question.since)),
    tables=_uncertainty_tables,
    document=lambda found: {"uncertainty": [asdict(row) for row in found]},
)
