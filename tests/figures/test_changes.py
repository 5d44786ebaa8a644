"""Which change is watched: prompts edited and taken back, models replaced, two writers at work, proposals reviewed late."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.changes import changes, first_uses
from navigator.model.records import VersionCount


def used(first: int, last: int, prompt: str = "generate@1", **more: Any) -> VersionCount:
    """Versions in use from one day of November to another; proposals are numbered by their day."""
    values = {"writer_model": "35B", "model": "122B", "prompt_version": "review@1", "written": last, **more}
    return VersionCount(
        writer_prompt=prompt,
        first=f"2026-11-{first:02}T10:00:00.000Z",
        last=f"2026-11-{last:02}T20:00:00.000Z",
        revise=1,
        **values,
    )


def told(*counts: VersionCount) -> list[tuple[str, str, bool]]:
    """Of each change, the writer's prompt and model before and now, and whether it was a return."""
    return [
        (
            f"{change.former.writer_model} {change.former.writer_prompt}",
            f"{change.current.writer_model} {change.current.writer_prompt}",
            change.back,
        )
        for change in changes(counts)
    ]


def test_the_newest_prompt_is_compared_with_the_one_before() -> None:
    (change,) = changes([used(1, 3), used(4, 8, "generate@2"), used(9, 12, "generate@3")])
    assert (change.former.writer_prompt, change.current.writer_prompt) == ("generate@2", "generate@3")
    assert change.since == "2026-11-09T10:00:00.000Z"
    assert change.differs == ("writer_prompt",)


def test_one_version_has_not_changed() -> None:
    assert changes([]) == () == changes([used(1, 9)])


def test_the_reviewers_side_counts_as_well() -> None:
    (change,) = changes([used(1, 5), used(6, 9, model="397B", prompt_version="review@2")])
    assert change.differs == ("model", "prompt_version")


def test_a_proposal_reviewed_late_is_no_return() -> None:
    assert told(used(1, 9, written=4), used(5, 8, "generate@2", written=8)) == [
        ("35B generate@1", "35B generate@2", False)
    ]


def test_a_prompt_taken_back_is_watched_against_the_one_it_replaced() -> None:
    taken_back = (used(1, 12), used(5, 8, "generate@2"))
    assert told(*taken_back) == [("35B generate@2", "35B generate@1", True)]
    assert changes(taken_back)[0].since == "2026-11-08T20:00:00.000Z"
    then_another = (used(1, 12), used(5, 8, "generate@2"), used(13, 14, "generate@3"))
    assert told(*then_another) == [("35B generate@1", "35B generate@3", False)]


def test_two_writers_at_work_are_two_lines() -> None:
    found = told(
        used(1, 5),
        used(1, 5, writer_model="7B"),
        used(6, 9, "generate@2"),
        used(6, 9, "generate@2", writer_model="7B"),
    )
    assert sorted(found) == [
        ("35B generate@1", "35B generate@2", False),
        ("7B generate@1", "7B generate@2", False),
    ]


def test_a_new_model_is_compared_with_the_one_that_stopped() -> None:
    counts = (used(1, 9, writer_model="7B"), used(1, 5), used(6, 9, writer_model="80B"))
    assert told(*counts) == [("35B generate@1", "80B generate@1", False)]
    assert changes(counts)[0].differs == ("writer_model",)


def test_another_way_of_writing_is_another_line() -> None:
    (change,) = changes([used(1, 5), used(6, 9, way="looking")])
    assert change.differs == ("way",)


def test_first_uses_leave_out_what_was_there_from_the_start() -> None:
    counts = (used(1, 5), used(6, 9, "generate@2"), used(8, 9, "generate@2", prompt_version="review@2"))
    assert [(use.at[:10], use.field, use.value) for use in first_uses(counts)] == [
        ("2026-11-06", "writer_prompt", "generate@2"),
        ("2026-11-08", "prompt_version", "review@2"),
    ]


COUNTS = st.lists(
    st.builds(
        lambda first, length, prompt, more: used(first, first + length, prompt, **more),
        st.integers(1, 20),
        st.integers(0, 10),
        st.sampled_from(("generate@1", "generate@2", "generate@3")),
        st.fixed_dictionaries(
            {"writer_model": st.sampled_from(("35B", "80B")), "model": st.sampled_from(("122B", "397B"))}
        ),
    ),
    max_size=8,
    unique_by=lambda row: (row.writer_prompt, row.writer_model, row.model),
)


@given(COUNTS)
def test_whatever_happened_a_change_is_between_two_versions_and_has_verdicts_before_it(
    counts: list[VersionCount],
) -> None:
    found = changes(counts)
    assert len({change.current.writer_model for change in found}) == len(found)
    for change in found:
        assert change.differs
        assert change.former.first <= change.since <= change.current.last
        same_line = change.former.writer_model == change.current.writer_model
        assert same_line or change.former.last < change.current.first
