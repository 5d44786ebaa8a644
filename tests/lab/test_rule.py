"""Cascade's rule on windows of known rounds, and the decision in the unit of a server. Simulated."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.config.settings import Settings
from navigator.lab.speculation.decide import decide
from navigator.lab.speculation.engines import Answer, Counts
from navigator.lab.speculation.plan import read_plan
from navigator.lab.speculation.rule import Rule, rules
from navigator.lab.speculation.runs import Run
from navigator.model.errors import Conflict, UsageError
from navigator.model.states import Role
from navigator.setup import doctor_servers, speculation
from navigator.setup.doctor_servers import unit_items
from navigator.setup.files import sealed, state_of
from navigator.setup.install import flags_of_unit, user_places
from navigator.setup.sglang_flags import Installed
from navigator.setup.speculation import to_look_at, write_decision, write_launch
from navigator.swap.machine import HERE
from tests.lab.test_decide import measured
from tests.lab.test_measure import plan_file

UNIT = """# by hand, no more
[Service]
ExecStart=/opt/python -m sglang.launch_server \\
    --model-path /models/big \\
    --port 30000 \\
    --speculative-algorithm EAGLE \\
    --speculative-num-steps 5
KillMode=mixed
"""


def windows(costs: dict[int, float], kept: dict[int, float], tokens: int = 2000) -> list[Run]:
    """One start: a round at length γ takes `costs[γ]` steps and yields 1 + `kept[γ]` tokens."""
    found = []
    for gamma, cost in costs.items():
        each = 1 + kept[gamma]
        piece = (16.0, 16.0 * kept[gamma] / each, 16.0 / each * cost * 0.01)
        arm = {"draft": "NEXTN", "gamma": gamma} if gamma else {}
        pieces = (piece,) * (tokens // 16)
        found.append(Run(line=1, target="big", speed=1.0, block="0", windows=pieces, **arm))
    return found


def one(costs: dict[int, float], kept: dict[int, float]) -> Rule:
    (found,) = rules(windows(costs, kept))
    return found


def test_the_rule_settles_where_it_is_fastest() -> None:
    found = one({0: 1, 1: 1.2, 3: 1.5, 7: 2.6}, {0: 0, 1: 0.7, 3: 1.6, 7: 1.9})
    assert found.settled == 3
    assert found.fixed == pytest.approx({1: 1.2 / 1.7, 3: 1.5 / 2.6, 7: 2.6 / 2.9})
    assert found.fixed[3] < found.controlled < 0.75


def test_it_turns_speculation_off_where_that_loses_and_says_what_the_tests_cost() -> None:
    found = one({0: 1, 1: 1.5, 3: 2.0}, {0: 0, 1: 0.1, 3: 0.1})
    assert found.settled == 0
    assert 1 < found.controlled <= 1.05  # as published
    assert 0 < found.worst <= 0.05
    assert found.sentence.startswith("Cascade's rule settles on no speculation for NEXTN")


def test_without_windows_or_a_start_without_speculation_there_is_no_rule() -> None:
    runs = windows({0: 1, 3: 1.5}, {0: 0, 3: 1})
    assert rules([each.model_copy(update={"windows": ()}) for each in runs]) == []
    assert rules([each for each in runs if each.speculated]) == []


def test_windows_count_rounds_by_events_or_share_them_by_time() -> None:
    events = Answer(40, 4.0, (), Counts(accepted=30), tuple((4 * n, 0.4 * n) for n in range(1, 11)))
    assert events.windows() == [(16, 12, 1.6), (16, 12, 1.6), (8, 6, 0.8)]
    # llama.cpp sends every token by itself, those of a round at one time.
    tokens = Answer(40, 4.0, (), Counts(accepted=30), tuple((n, 0.4 * ((n + 3) // 4)) for n in range(1, 41)))
    assert sum(accepted for _, accepted, _ in tokens.windows()) == pytest.approx(30, abs=0.1)
    assert sum(seconds for *_, seconds in tokens.windows()) == pytest.approx(4.0)


def decided(**changes: object) -> list[Run]:
    arguments = ("--speculative-algorithm", "NGRAM")
    own = {"engine": "sglang", "version": "0.5.23", "card": "RTX", "arguments": arguments}
    return [each.model_copy(update=own | changes) for each in measured({4: 1.25})]


def test_the_decision_is_written_into_the_unit_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit, runs = tmp_path / "unit", decided()
    monkeypatch.setattr(speculation, "card_names", lambda on=HERE: "RTX")
    unit.write_text(sealed(UNIT))
    for _ in range(2):
        write_launch(unit, HERE, decide(runs), runs, "/models/big")
        text = unit.read_text()
        assert state_of(unit) == "ours"
        assert text.count("# Speculation:") == 1 and "KillMode=mixed" in text
        kept = {"--model-path": "/models/big", "--port": "30000"}
        assert flags_of_unit(text) == kept | {"--speculative-algorithm": "NGRAM"}
    assert to_look_at(text, "0.5.23") == ""
    assert to_look_at(text, "0.6.0") == "engine: 0.5.23 then, 0.6.0 now"
    monkeypatch.setattr(speculation, "card_names", lambda on=HERE: "H100")
    assert to_look_at(text, "") == "card: RTX then, H100 now"
    newer = text.replace("--model-path /models/big", "--model-path /models/new")
    assert "model: /models/big then, /models/new now" in to_look_at(newer, "")
    assert to_look_at(UNIT, "0.6.0") == ""
    lost = [each.model_copy(update={"speed": each.speed / 2}) if each.gamma else each for each in runs]
    write_launch(unit, HERE, decide(lost), lost, "/models/big")
    assert "--speculative" not in unit.read_text() and "--port 30000\nKillMode" in unit.read_text()


def test_the_command_writes_it_into_the_installed_unit_and_doctor_says_when_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("NAVIGATOR_CONFIG", raising=False)
    unit = tmp_path / "systemd" / "user" / "navigator-generator.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(sealed(UNIT))
    path = plan_file(tmp_path, kind="sglang")
    path.write_text(path.read_text().replace('"{port}"]', '"{port}", "--model-path", "/models/big"]'))
    assert write_decision(decided(), Role.GENERATOR, read_plan(path), lambda words: None) == unit
    assert flags_of_unit(unit.read_text())["--speculative-algorithm"] == "NGRAM"
    newer = Installed(Path("/opt/python"), "0.6.0")
    monkeypatch.setattr(doctor_servers, "find_sglang", lambda named, on: newer)
    (told,) = [one for one in unit_items(Settings(), user_places()) if one.name == "speculation"]
    assert told.state == "warn"
    assert "engine: 0.5.23 then, 0.6.0 now" in told.found and "--write" in told.hint


def test_what_was_not_measured_on_that_server_is_not_written(tmp_path: Path) -> None:
    unit, runs = tmp_path / "unit", decided()
    unit.write_text(sealed(UNIT))
    with pytest.raises(UsageError, match="starts /models/big; /models/other was measured"):
        write_launch(unit, HERE, decide(runs), runs, "/models/other")
    for changes in ({"random_weights": True}, {"engine": "vllm"}):
        with pytest.raises(UsageError, match="these runs are of others"):
            write_launch(unit, HERE, decide(runs), decided(**changes), "/models/big")
    with pytest.raises(Conflict, match="is not as"):
        write_launch(tmp_path / "none", HERE, decide(runs), runs, "/models/big")
    assert unit.read_text() == sealed(UNIT)
