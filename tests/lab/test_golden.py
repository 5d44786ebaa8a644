"""Published figures, recomputed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.domain.errors import ConfigError, UsageError
from navigator.evidence.paired import discordant_needed, sign_test
from navigator.lab.golden.rows import recompute, same


def test_every_row_comes_out_as_expected() -> None:
    found = recompute()
    assert len(found) == 88
    assert [outcome.row.id for outcome in found if not outcome.agrees] == []
    assert len({outcome.row.id for outcome in found}) == 88
    sources = {outcome.row.source for outcome in found}
    assert sources == {
        "ZINC",
        "derived",
        "AtomGradient",
        "thc1006",
        "llama.cpp PR24536",
        "Cascade",
        "Thornveil",
    }


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ("Z1", "reproduces"),
        ("Z7", "contradicts"),
        ("A3", "premise does not hold"),
        ("A7", "premise does not hold"),
        ("A16", "contradicts"),
        ("A19", "contradicts"),
        ("P26", "contradicts"),
        ("M3.2", "no claim"),
    ],
)
def test_what_is_printed_is_judged(row: str, verdict: str) -> None:
    assert {outcome.row.id: outcome.verdict for outcome in recompute()}[row] == verdict


def test_the_command_prints_one_document() -> None:
    done = CliRunner().invoke(cli, ["lab", "golden", "--json"])
    document = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (document["agree"], document["total"]) == (88, 88)
    assert {"id", "expected", "computed", "printed", "agrees", "note"} <= document["rows"][0].keys()


def test_other_rows_go_through_the_same_formulas(tmp_path: Path) -> None:
    rows = tmp_path / "rows.toml"
    rows.write_text(
        '[[row]]\nid = "a"\nsource = "me"\nwhat = "x"\nformula = "speedup"\nexpected = 2.0\n'
        "inputs = { alpha = 1, gamma = 3, draft_cost = 0.1, verify_cost = 1.7 }\n"
        '[[row]]\nid = "b"\nsource = "me"\nwhat = "x"\nformula = "wilson"\nexpected = [0.1, 0.2]\ninputs = { k = 3, n = 8 }\n'
    )
    right, wrong = recompute(rows)
    assert right.agrees
    assert not wrong.agrees
    done = CliRunner().invoke(cli, ["lab", "golden", "--rows", str(rows)])
    assert done.exit_code == 1
    assert "1 of 2 computed as expected" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        '[[row]]\nid = "a"\n',
        '[[row]]\nid = "a"\nsource = "m"\nwhat = "x"\nformula = "none"\nexpected = 2.0\ninputs = {}\n',
        '[[row]]\nid = "a"\nsource = "m"\nwhat = "x"\nformula = "ratio"\nexpected = 2.0\ninputs = { part = 1, whole = 0 }\n',
        "not toml",
    ],
)
def test_files_that_hold_no_rows_are_refused(tmp_path: Path, text: str) -> None:
    rows = tmp_path / "rows.toml"
    rows.write_text(text)
    with pytest.raises(ConfigError):
        recompute(rows)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        recompute(tmp_path / "nowhere.toml")


def test_agreement_is_to_the_digits_written() -> None:
    assert same(0.26749, 0.267)
    assert not same(0.2676, 0.267)
    assert same([1.04, 2.0], [1.0, 2.0])
    assert not same([1.0], [1.0, 2.0])
    assert not same(1.0, "1.0")


def test_the_sign_test_is_exact() -> None:
    assert sign_test(5, 0) == 0.0625
    assert sign_test(0, 6) == 0.03125
    assert sign_test(3, 3) == 1.0
    assert sign_test(0, 0) == 1.0
    assert sign_test(8, 2) == pytest.approx(0.109375)
    assert discordant_needed() == 6
