"""Blind judging: what votes say, and when they say nothing."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from navigator.cli.main import cli
from navigator.domain.errors import MissingPart, NavigatorError, UsageError
from navigator.evidence.paired import sign_test
from navigator.lab.judging.ask import questions, read_verdict
from navigator.lab.judging.strength import strengths
from navigator.lab.judging.tally import duel, judge_is_usable, majority, tally
from navigator.lab.judging.votes import Item, Vote, read_items, read_votes

ORDERS = (("a", "b"), ("b", "a"))


def votes_of(judge: str, tasks: int, say: Callable[[int, str, str], str]) -> list[Vote]:
    """Both orders of `tasks` pairs of systems a and b."""
    return [
        Vote(task=f"t{task}", judge=judge, first=first, second=second, winner=say(task, first, second))  # type: ignore[arg-type]
        for task in range(tasks)
        for first, second in ORDERS
    ]


def prefers(system: str) -> Callable[[int, str, str], str]:
    return lambda _, first, __: "first" if first == system else "second"


def test_a_judge_that_means_it_is_counted() -> None:
    found = tally(votes_of("one", 40, prefers("a")))
    (only,) = found.duels
    assert (only.wins, only.losses, only.ties, only.usable) == (40, 0, 0, True)
    (judge,) = found.judges
    assert (judge.flips.k, judge.ties.k, judge.first.k, judge.first.n) == (0, 0, 40, 80)
    assert judge.position_p == 1.0
    assert judge_is_usable(judge) == ""


def test_a_judge_that_follows_the_position_is_found() -> None:
    found = tally(votes_of("one", 40, lambda *_: "first"))
    (only,) = found.duels
    assert (only.wins, only.losses, only.ties) == (0, 0, 40)
    assert not only.usable
    (judge,) = found.judges
    assert judge.flips.rate == 1.0
    assert judge.position_p < 1e-9
    assert "judges the position" in judge_is_usable(judge)


def test_a_tie_in_one_order_is_no_flip() -> None:
    def say(task: int, first: str, _: str) -> str:
        return "tie" if first == "a" else "second"

    (judge,) = tally(votes_of("one", 10, say)).judges
    assert (judge.flips.k, judge.ties.k) == (0, 10)


def test_three_judges_decide_by_majority() -> None:
    votes = (
        votes_of("1", 10, prefers("a")) + votes_of("2", 10, prefers("a")) + votes_of("3", 10, prefers("b"))
    )
    found = tally(votes)
    assert (found.duels[0].wins, found.agreement.k, found.agreement.n) == (10, 0, 10)
    split = (
        votes_of("1", 10, prefers("a"))
        + votes_of("2", 10, prefers("b"))
        + votes_of("3", 10, lambda *_: "tie")
    )
    assert tally(split).duels[0].ties == 10


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=7))
def test_a_majority_is_more_than_half(outcomes: list[str | None]) -> None:
    winner = majority(outcomes)
    if winner is not None:
        assert 2 * outcomes.count(winner) > len(outcomes)
    else:
        assert all(2 * outcomes.count(each) <= len(outcomes) for each in ("a", "b"))


def test_pairs_seen_in_one_order_only_are_left_out() -> None:
    found = tally(votes_of("one", 10, prefers("a"))[:-1])
    assert (found.incomplete, found.duels[0].wins) == (1, 9)


def test_counts_that_a_paper_prints() -> None:
    found = duel("cascade", "35B", 5, 0, 35)
    assert found.rate.rate == 0.125
    assert found.p == 0.0625
    assert not found.usable
    assert "5 of 40 pairs are decided. It takes 6" in found.reason
    assert not duel("x", "y", 2, 0, 28).usable
    mostly = duel("x", "y", 8, 2, 190)
    assert "95% are ties" in mostly.reason
    assert duel("x", "y", 20, 8, 12).usable


def test_a_coin_is_seldom_called_a_difference() -> None:
    """Simulated judges without an opinion: false alarms stay below the level."""
    dice, alarms = random.Random(4), 0
    for _ in range(400):
        wins = sum(dice.random() < 0.5 for _ in range(40))
        alarms += sign_test(wins, 40 - wins) < 0.05
    assert alarms <= 400 * 0.05 + 12


def test_strengths_come_back_in_their_order() -> None:
    truth = {"weak": -1.0, "middle": 0.0, "strong": 1.0}
    dice, games = random.Random(2), []
    for one, other in itertools.combinations(truth, 2):
        for _ in range(150):
            chance = 1 / (1 + 2.718281828 ** (truth[other] - truth[one]))
            games.append((one, other) if dice.random() < chance else (other, one))
    found = strengths(games)
    assert [row.name for row in found] == ["strong", "middle", "weak"]
    for row in found:
        assert row.low is not None and row.high is not None
        assert row.low <= row.value <= row.high
        assert row.low - 0.1 <= truth[row.name] <= row.high + 0.1
        assert row.games == 300
    assert strengths([]) == []
    assert [(row.low, row.high) for row in strengths([("a", "b")] * 9)] == [(None, None)] * 2
    assert [row.low for row in strengths([("a", "b"), ("b", "a")])] == [None, None]


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ('{"better": "A"}', "first"),
        ('Well.\n```json\n{"better": "B"}\n```', "second"),
        ('{"better": "tie"}', "tie"),
        ('{"better": "C"}', None),
        ('{"better": ["A"]}', None),
        ("A is better", None),
        ("{", None),
        ("[1]", None),
    ],
)
def test_verdicts_are_read(text: str, winner: str | None) -> None:
    assert read_verdict(text) == winner


@given(st.text(max_size=60))
def test_any_answer_is_a_verdict_or_none(text: str) -> None:
    assert read_verdict(text) in ("first", "second", "tie", None)


def test_what_was_answered_is_not_asked_again() -> None:
    items = [Item(task=f"t{n}", question="q", answers={"a": "1", "b": "2", "c": "3"}) for n in range(4)]
    every = questions(items, "j", [])
    assert len(every) == 4 * 3 * 2
    assert every == questions(items, "j", [])
    had = [
        Vote(task=item.task, judge="j", first=first, second=second, winner="tie")
        for item, first, second in every[:5]
    ]
    left = questions(items, "j", had)
    assert len(left) == 19
    assert not [each for each in left if each in every[:5]]
    assert len(questions(items, "other", had)) == 24


def lines(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def test_files_that_cannot_be_used_are_refused_with_the_line(tmp_path: Path) -> None:
    good = {"task": "t", "judge": "j", "first": "a", "second": "b", "winner": "tie"}
    for bad in (good | {"winner": "A"}, good | {"second": "a"}, [1], {}):
        with pytest.raises(UsageError, match="line 2"):
            read_votes(lines(tmp_path / "votes.jsonl", good, bad))
    (tmp_path / "votes.jsonl").write_text("{")
    with pytest.raises(UsageError, match="line 1 is no JSON"):
        read_votes(tmp_path / "votes.jsonl")
    item = {"task": "t", "question": "q", "answers": {"a": "1", "b": "2"}}
    with pytest.raises(UsageError, match="twice"):
        read_items(lines(tmp_path / "items.jsonl", item, item))
    with pytest.raises(UsageError, match="cannot be read"):
        read_items(tmp_path / "nowhere.jsonl")


class Judge(BaseHTTPRequestHandler):
    """A simulated judge: it prefers the longer answer, and says nonsense where both are empty."""

    asked: list[str] = []

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._send(b'{"data": [{"id": "judge"}]}', "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["messages"][-1]["content"]
        Judge.asked.append(json.dumps(body["messages"]))
        first, _, second = text.partition("===== Answer A =====\n")[2].partition("\n\n===== Answer B =====\n")
        one, other = len(first), len(second.partition("\n\n===== End")[0])
        answer = "no idea" if one == other else json.dumps({"better": "A" if one > other else "B"})
        chunk = {
            "choices": [{"index": 0, "delta": {"content": answer}, "finish_reason": None}],
            "model": "judge",
        }
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "model": "judge"}
        events = "".join(f"data: {json.dumps(each)}\n\n" for each in (chunk, end)) + "data: [DONE]\n\n"
        self._send(events.encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def judge_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    Judge.asked = []
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def command(tmp_path: Path, *words: str, url: str = "") -> Result:
    config = tmp_path / "config.toml"
    config.write_text(f'[reviewer]\nmodel = "judge"\nbase_url = "{url or "http://127.0.0.1:9"}"\n')
    state = {"NAVIGATOR_STATE": str(tmp_path / "state"), "NAVIGATOR_CONFIG": str(config)}
    return CliRunner(env=state).invoke(cli, ["lab", "judge", *words])


def document(done: Result) -> Any:
    return json.loads(done.stdout)


def test_a_judge_is_asked_blind_in_both_orders_and_once(tmp_path: Path, judge_server: str) -> None:
    items = [
        {"task": f"t{n}", "question": "Sort.", "answers": {"cascade": "long answer", "alone": "short"}}
        for n in range(8)
    ]
    items.append({"task": "same", "question": "Sort.", "answers": {"cascade": "xxxx", "alone": "yyyy"}})
    path = lines(tmp_path / "items.jsonl", *items)
    done = document(command(tmp_path, str(path), "--judge", "reviewer", "--json", url=judge_server))
    assert len(Judge.asked) == 18
    assert not any("cascade" in text or "alone" in text for text in Judge.asked)
    assert (done["votes"], done["unreadable"], done["incomplete"]) == (16, 2, 0)
    (only,) = done["duels"]
    assert (only["one"], only["wins"], only["losses"], only["ties"], only["usable"]) == (
        "alone",
        0,
        8,
        0,
        True,
    )
    again = document(command(tmp_path, str(path), "--judge", "reviewer", "--json", url=judge_server))
    assert len(Judge.asked) == 20  # only what was no verdict
    assert again["votes"] == 16
    shown = command(tmp_path, str(path)).stdout
    assert "alone against cascade: 0 won, 8 lost, 0 ties" in shown
    assert "anecdotal" in shown


def test_recorded_votes_are_counted_without_a_server(tmp_path: Path) -> None:
    votes = [vote.model_dump() for vote in votes_of("one", 40, lambda *_: "first")]
    path = lines(tmp_path / "votes.jsonl", *votes)
    shown = command(tmp_path, "--votes", str(path)).stdout
    assert "unusable: it changes its mind with the order in 40 of 40 pairs" in shown
    assert "Unusable: 0 of 40 pairs are decided" in shown


def test_printed_counts_are_judged(tmp_path: Path) -> None:
    done = command(tmp_path, "--counts", "5-0-35")
    assert done.exit_code == 0
    assert "sign test p = 0.0625" in done.stdout
    assert "Unusable" in done.stdout
    assert document(command(tmp_path, "--counts", "5-0-35", "--json"))["rate"]["rate"] == 0.125


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], UsageError),
        (["--counts", "5-0"], UsageError),
        (["--counts", "0-0-0"], UsageError),
        (["--judge", "reviewer"], UsageError),
        (["--votes", "/nowhere/votes.jsonl"], MissingPart),
    ],
)
def test_what_cannot_be_judged_is_refused(
    tmp_path: Path, words: list[str], error: type[NavigatorError]
) -> None:
    assert isinstance(command(tmp_path, *words).exception, error)


def test_a_judge_that_is_not_up_is_named(tmp_path: Path) -> None:
    items = lines(tmp_path / "items.jsonl", {"task": "t", "question": "q", "answers": {"a": "1", "b": "2"}})
    done = command(tmp_path, str(items), "--judge", "reviewer")
    assert isinstance(done.exception, NavigatorError)
    assert "127.0.0.1:9" in str(done.exception)
