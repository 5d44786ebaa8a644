"""Tables of the outcomes page: what revisions did, which findings were met, what was reverted, what a second review said."""

from __future__ import annotations

from collections.abc import Iterable

from navigator.cascade.views.statistics.page import SHARE_COLUMNS, Row, Table, share_rows
from navigator.figures.agreement import Retest
from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.figures.outcomes import FindingsMet, Landed, Revisions
from navigator.model.states import Verdict
from navigator.model.text import plural

_HOW = {
    "named": "named by the commit that reverts it",
    "exact": "taken back exactly",
    "undone": "undone with Navigator",
}


def revision_table(found: Revisions) -> Iterable[Table]:
    """What the tests said before and after each revision; nothing where there was none."""
    if not found.fixed.n and not found.unknown:
        return
    rows = share_rows(
        (
            ("fixed: fail → pass", found.fixed),
            ("cosmetic: pass → pass", found.cosmetic),
            ("harmful: pass → fail", found.harmful),
            ("no help: fail → fail", found.no_help),
        )
    )
    yield Table(
        "TESTS BEFORE AND AFTER EACH REVISION",
        SHARE_COLUMNS,
        rows,
        about="the project's own tests",
        notes=tuple(
            _notes(found.fixed.n, (found.unknown, "not known: tests not run, or failing as on the base"))
        ),
    )


def finding_table(found: tuple[FindingsMet, ...]) -> Iterable[Table]:
    """Findings met by the revision, by round."""
    if not found:
        return
    rows = share_rows((f"met in round {row.round}", row.met) for row in found)
    yield Table(
        "FINDINGS MET",
        SHARE_COLUMNS,
        rows,
        about=f"{plural(sum(row.revisions for row in found), 'revision')}, as the next review says",
        notes=tuple(
            _notes(
                sum(row.met.n for row in found),
                (sum(row.unknown for row in found), "not known: the next review does not say"),
                (sum(row.unread for row in found), "of those reviews could not be read"),
            )
        ),
    )


def landed_table(found: Landed) -> Iterable[Table]:
    """Landed commits that were reverted later, by verdict."""
    unknown = sum(found.unknown.values())
    if not found.reverted.n and not unknown:
        return
    rows = share_rows(
        (
            ("reverted later", found.reverted),
            *((f"  {_verdict(row.verdict)}", row.reverted) for row in found.by_verdict),
        )
    )
    notes = list(_notes(found.reverted.n))
    if found.how:
        notes.append(", ".join(f"{count:,} {_HOW[how]}" for how, count in found.how.items()))
    if unknown:
        notes.append("not known: " + ", ".join(f"{count:,} {why}" for why, count in found.unknown.items()))
    if found.looked:
        notes.append(f"last looked at {found.looked[:16].replace('T', ' ')} UTC")
    yield Table("LANDED COMMITS", SHARE_COLUMNS, rows, notes=tuple(notes))


def _verdict(verdict: Verdict | None) -> str:
    return f"after {verdict.value}" if verdict else "without an independent review"


def repeat_table(found: Retest) -> Iterable[Table]:
    """The same diff reviewed twice by one model under one prompt version."""
    return _retest_table(
        "THE SAME DIFF REVIEWED TWICE", "the first two reviews by one model and prompt version", found
    )


def exam_repeat_table(found: Retest) -> Iterable[Table]:
    """Items of the exam that one model answered twice under one prompt version."""
    return _retest_table("EXAM ITEMS ASKED TWICE", "two answers by one model and prompt version", found)


def _retest_table(title: str, about: str, found: Retest) -> Iterable[Table]:
    if not found.agreed.n and not found.unread:
        return
    one = found.kappa
    known = one.value is not None
    cells = (f"{one.value:.2f}", f"[{one.low:.2f}–{one.high:.2f}]", f"n {one.n:,}") if known else ()
    yield Table(
        title,
        SHARE_COLUMNS,
        (*share_rows((("same verdict", found.agreed),)), Row("Cohen's kappa", cells, note=one.reason)),
        about=about,
        notes=tuple(_notes(found.agreed.n, (found.unread, "pairs could not be read"))),
    )


def _notes(n: int, *unknown: tuple[int, str]) -> Iterable[str]:
    if 0 < n < ANECDOTAL_BELOW:
        yield f"anecdotal: n below {ANECDOTAL_BELOW}"
    yield from (f"{count:,} {why}" for count, why in unknown if count)
