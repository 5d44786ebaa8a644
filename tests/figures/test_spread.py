"""Counts in bins: every value once, in the bin it lies in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.swaps import spread

SECONDS = st.floats(0, 1e5, allow_nan=False)


@given(
    st.dictionaries(st.sampled_from(("there", "back", "cold")), st.lists(SECONDS, max_size=40), min_size=1)
)
def test_every_value_is_counted_in_its_group(groups: dict[str, list[float]]) -> None:
    found = spread(groups)
    if not any(groups.values()):
        assert found is None
        return
    assert found is not None
    assert {name: sum(counts) for name, counts in found.counts.items()} == {
        name: len(values) for name, values in groups.items()
    }
    (bins,) = {len(counts) for counts in found.counts.values()}
    assert 1 <= bins <= 25
    for name, values in groups.items():
        for place, count in enumerate(found.counts[name]):
            low = found.start + place * found.step
            near = [value for value in values if low - 1e-6 <= value <= low + found.step * (1 + 1e-9) + 1e-6]
            assert count <= len(near)


def test_bins_have_round_borders() -> None:
    found = spread({"there": [31.2, 33.9, 42.0, 58.8]})
    assert found is not None
    assert (found.start, found.step) == (30.0, 2.0)
    assert found.counts["there"] == (1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1)


@pytest.mark.parametrize("value", [0.0, 0.04, 12.3])
def test_one_value_is_one_bin(value: float) -> None:
    found = spread({"there": [value]})
    assert found is not None and found.counts == {"there": (1,)}
