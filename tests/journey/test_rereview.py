"""A second reading asks whether the first one's findings are met and whether there is a new blocker; code keeps it to that."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.journey.reviewing.answer import UnreadableReview, read_review
from navigator.journey.reviewing.grounding import Shown, derive_verdict, ground
from navigator.journey.reviewing.join import second_findings
from navigator.model.models import Finding
from navigator.model.states import Severity, Verdict
from tests.git.differing import difference
from tests.journey.answers import answer, finding, grounded

BASE = b"def load(path):\n    return open(path).read()\n\n\ndef close(handle):\n    handle.close()\n"
FIRST = BASE.replace(
    b"    return open(path).read()\n",
    b"    try:\n        return open(path).read()\n    except Exception:\n        return None\n",
)
SECOND = FIRST.replace(b"except Exception:", b"except FileNotFoundError:")
TASK = "load() must not fail on a file that is not there."

HERE = {"hunk": "H1", "path": "io.py"}
HIDDEN = "Every error is hidden; `except FileNotFoundError` is what the task asks for."
ASKED = grounded(**HERE, line=4, quote="    except Exception:", message=HIDDEN)
SMALL = grounded(**HERE, line=5, quote="        return None", severity=Severity.MINOR)


def shown(now: bytes = SECOND) -> Shown:
    return Shown(difference({"io.py": BASE}, {"io.py": now}), TASK, {"io.py": [(1, now.decode())]})


def read(
    *findings: dict[str, Any], met: dict[int, bool], now: bytes = SECOND, earlier: Any = (ASKED,)
) -> tuple[Verdict, tuple[Finding, ...]]:
    addressed = [{"finding": number, "met": value, "why": "w"} for number, value in met.items()]
    raw = read_review(answer(*findings, addressed=addressed), asked=range(1, 10))
    made = second_findings(raw, ground(raw, shown(now)), earlier, shown(now))
    return derive_verdict(made), made


def about(quote: str, **changes: Any) -> dict[str, Any]:
    return finding(hunk="H1", quote=quote, line=0, message="other words") | changes


def test_something_new_is_a_remark_unless_it_is_a_blocker() -> None:
    for severity, expected in (("major", (Verdict.APPROVE, True)), ("blocker", (Verdict.REVISE, False))):
        verdict, (made,) = read(about("        return None", severity=severity, earlier=0), met={1: True})
        assert (verdict, made.remark, made.anchored) == (*expected, True)


@pytest.mark.parametrize("number", [1, None])
def test_what_is_not_met_counts_where_it_is_quoted_in_the_revision(number: int | None) -> None:
    again = about("    except Exception:", earlier=number) if number else about("    except Exception:")
    verdict, (made,) = read(again, met={1: False}, now=FIRST)
    assert (verdict, made.remark, made.line) == (Verdict.REVISE, False, 4)


def test_what_is_not_met_and_not_repeated_is_carried_over_while_its_quote_is_there() -> None:
    verdict, (made,) = read(met={1: False}, now=FIRST)
    assert (verdict, made.anchored, made.line, made.message) == (Verdict.REVISE, True, 4, ASKED.message)


def test_met_and_repeated_all_the_same_counts_only_as_a_blocker() -> None:
    major = about("    except Exception:", earlier=1)
    assert read(major, met={1: True}, now=FIRST)[0] is Verdict.APPROVE
    assert read(major | {"severity": "blocker"}, met={1: True}, now=FIRST)[0] is Verdict.REVISE
    assert read(met={1: True}) == read(met={1: False}) == (Verdict.APPROVE, ()), "what it quotes is gone"


def test_a_small_finding_does_not_grow_into_a_revision() -> None:
    grown = about("        return None", severity="major", earlier=1)
    verdict, (made,) = read(grown, met={1: False}, earlier=(SMALL,))
    assert (verdict, made.remark) == (Verdict.APPROVE, True)


def test_numbers_that_were_never_given_are_ignored() -> None:
    verdict, (made,) = read(about("        return None", earlier=7), met={9: False, -1: False, 0: False})
    assert (verdict, made.remark) == (Verdict.APPROVE, True)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "quote": st.sampled_from([ASKED.quote, SMALL.quote, "    try:", "nothing"]),
                "severity": st.sampled_from(["major", "minor", "nit"]),
                "earlier": st.sampled_from([0, 1, 2, 5]),
                "message": st.sampled_from(["a", "b", ASKED.message]),
            }
        ),
        max_size=4,
    ),
    st.dictionaries(st.integers(-1, 4), st.booleans(), max_size=4),
)
def test_only_blockers_and_what_is_unmet_cause_a_revision(
    findings: list[dict[str, Any]], met: dict[int, bool]
) -> None:
    """No blocker among them: REVISE needs the one earlier finding of weight, not met, and a quote that stands."""
    verdict, made = read(*(about("x") | one for one in findings), met=met, now=FIRST, earlier=(ASKED, SMALL))
    if verdict is Verdict.REVISE:
        assert met.get(1) is not True
        assert any(one.anchored and not one.remark and one.severity is Severity.MAJOR for one in made)
    if met.get(1) is True:
        assert verdict is Verdict.APPROVE


def test_an_answer_has_to_say_which_findings_are_met_by_their_numbers() -> None:
    for fields in ({}, {"addressed": [{"met": True, "why": "a"}]}):
        with pytest.raises(UnreadableReview, match="addressed"):
            read_review(answer(verdict="APPROVE", **fields), asked=(1,))
