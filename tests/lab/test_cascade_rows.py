"""The cascade's published figures, held to the product's functions."""

from __future__ import annotations

import json

from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.lab.golden.rows import CASCADE, recompute

CONTRADICTED = {"P9", "P26", "P27", "P29", "P30", "P33", "P34", "P35", "P39"}


def test_every_row_of_the_cascade_comes_out_and_each_contradiction_is_explained() -> None:
    found = [outcome for outcome in recompute() if outcome.row.source == "Thornveil"]
    assert len(found) == 29
    assert [outcome.row.id for outcome in found if not outcome.agrees] == []
    wrong = {outcome.row.id for outcome in found if outcome.verdict == "contradicts"}
    assert wrong == CONTRADICTED
    assert [outcome.row.id for outcome in found if outcome.row.id in wrong and not outcome.row.note] == []


def test_what_the_publication_leaves_out_is_computed_too() -> None:
    found = recompute(CASCADE)
    assert [(outcome.agrees, outcome.verdict) for outcome in found] == [(True, "contradicts")] * 3
    assert all(outcome.row.note for outcome in found)


def test_explain_prints_every_row_and_says_which_are_contradicted() -> None:
    done = CliRunner().invoke(cli, ["forecast", "--explain"])
    assert done.exit_code == 0, done.output
    _, _, after = done.stdout.partition("does not follow")
    wrong, _, known = after.partition("Printed figures that follow")
    for row in CONTRADICTED | {"R1", "R2", "R3"}:
        assert f"\n{row:<4}" in wrong
        assert f"\n{row:<4}" not in known
    document = json.loads(CliRunner().invoke(cli, ["forecast", "--explain", "--json"]).stdout)
    assert len(document["rows"]) == 32
