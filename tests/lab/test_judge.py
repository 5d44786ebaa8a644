"""Blind judging: what votes say, and when they say nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from navigator.cli.lab_compare import judged, require_judges, tell_votes
from navigator.config.settings import Settings
from navigator.figures.compared import Tally, Vote, duel, tally
from navigator.lab.comparing.journal import Journal, LabTask
from navigator.lab.comparing.session import Finished
from navigator.lab.judging import questions, read_verdict
from navigator.model.errors import NavigatorError, UsageError
from tests.journey.scripted_models import Models

ORDERS = (("a", "b"), ("b", "a"))


def votes_of(judge: str, tasks: int, say: Callable[[int, str, str], str]) -> list[Vote]:
    """Both orders of `tasks` pairs of systems a and b."""
    return [
        Vote(task=f"t{task}", judge=judge, first=first, second=second, better=say(task, first, second))
        for task in range(tasks)
        for first, second in ORDERS
    ]


def prefers(system: str) -> Callable[[int, str, str], str]:
    return lambda *_: system


def test_a_judge_that_means_it_is_counted() -> None:
    found = tally(votes_of("one", 40, prefers("a")))
    (only,) = found.duels
    assert (only.wins, only.losses, only.ties, only.reason) == (40, 0, 0, "")
    (judge,) = found.judges
    assert (judge.flips.k, judge.ties.k, judge.first.k, judge.first.n) == (0, 0, 40, 80)
    assert judge.unusable == ""


def test_a_judge_that_follows_the_position_is_found() -> None:
    found = tally(votes_of("one", 40, lambda _, first, __: first))
    (only,) = found.duels
    assert (only.wins, only.losses, only.ties) == (0, 0, 40)
    assert only.reason
    (judge,) = found.judges
    assert judge.flips.rate == 1.0
    assert "judges the position" in judge.unusable


def test_a_tie_in_one_order_is_no_flip() -> None:
    def say(task: int, first: str, _: str) -> str:
        return "" if first == "a" else "a"

    (judge,) = tally(votes_of("one", 10, say)).judges
    assert (judge.flips.k, judge.ties.k) == (0, 10)


def test_three_judges_decide_by_majority() -> None:
    def said(*winners: str) -> Tally:
        return tally([vote for at, one in enumerate(winners) for vote in votes_of(str(at), 10, prefers(one))])

    assert said("a", "a", "b").duels[0].wins == 10
    assert said("a", "b", "").duels[0].ties == 10


def test_pairs_seen_in_one_order_only_are_left_out() -> None:
    found = tally(votes_of("one", 10, prefers("a"))[:-1])
    assert (found.incomplete, found.duels[0].wins) == (1, 9)


def test_counts_that_a_paper_prints() -> None:
    found = duel("cascade", "35B", 5, 0, 35)
    assert found.rate.rate == 0.125
    assert found.p == 0.0625
    assert "5 of 40 pairs are decided. It takes 6" in found.reason
    assert duel("x", "y", 2, 0, 28).reason
    mostly = duel("x", "y", 8, 2, 190)
    assert "95% are ties" in mostly.reason
    assert not duel("x", "y", 20, 8, 12).reason


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ('{"better": "A"}', "A"),
        ('Well.\n```json\n{"better": "B"}\n```', "B"),
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


def test_what_was_answered_is_not_asked_again() -> None:
    tasks, done = compared({arm: {f"t{n}": arm for n in range(4)} for arm in "abc"})
    every = questions(tasks, done.answers, "j", [])
    assert len(every) == 4 * 3 * 2
    assert every == questions(tasks, done.answers, "j", [])
    said = {"judge": "j", "better": ""}
    had = [Vote(task=task.key, first=first, second=second, **said) for task, first, second in every[:5]]
    left = questions(tasks, done.answers, "j", had)
    assert len(left) == 19
    assert not [each for each in left if each in every[:5]]
    assert len(questions(tasks, done.answers, "other", had)) == 24


def settings_for(url: str) -> Settings:
    return Settings.model_validate({"reviewer": {"model": "judge", "base_url": url}})


def compared(answers: dict[str, dict[str, str]]) -> tuple[list[LabTask], Finished]:
    """A comparison that is over, by arm and task."""
    keys = list(next(iter(answers.values())))
    done = Finished((), (), 0, 0.0, False, {}, answers)
    return [LabTask(key=key, text="Sort.", base="b", frame="f") for key in keys], done


def asked(url: str, answers: dict[str, dict[str, str]], folder: Path) -> Tally:
    servers = SimpleNamespace(strategy=SimpleNamespace(both_resident=True))
    deps = SimpleNamespace(settings=settings_for(url), servers=servers)
    return asyncio.run(judged(deps, ["reviewer"], *compared(answers), Journal(folder)))  # type: ignore[arg-type]


def test_a_judge_is_asked_blind_in_both_orders_and_once(
    tmp_path: Path, judge: Models, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = [f"t{number}" for number in range(8)]
    answers = {
        "cascade": dict.fromkeys(keys, "long answer") | {"unclear": "xxxx", "same": "one"},
        "generator": dict.fromkeys(keys, "short") | {"unclear": "yyyy", "same": "one"},
    }
    found = asked(judge.url, answers, tmp_path)
    assert len(judge.read_by) == 18, "what is the same is not compared"
    assert not any(name in str(messages) for messages in judge.read_by for name in ("cascade", "generator"))
    assert (found.votes, found.unreadable, found.incomplete) == (16, 2, 0)
    (only,) = found.duels
    assert (only.one, only.wins, only.losses, only.ties, only.reason) == ("cascade", 8, 0, 0, "")
    again = asked(judge.url, answers, tmp_path)
    assert len(judge.read_by) == 20, "only what was no verdict"
    assert again.duels == found.duels
    tell_votes(again)
    shown = capsys.readouterr().out
    assert "cascade against generator: 8 won, 0 lost, 0 ties" in shown
    assert "anecdotal" in shown


def test_what_cannot_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name no server for final"):
        require_judges(Settings(), ["final"])
    rehearsed = Settings.model_validate({"swap": {"strategy": "rehearsal"}})
    with pytest.raises(UsageError, match="has no judges"):
        require_judges(rehearsed, ["reviewer"])
    with pytest.raises(NavigatorError, match=r"127\.0\.0\.1:9"):
        asked("http://127.0.0.1:9", {"a": {"t": "1"}, "b": {"t": "2"}}, tmp_path)
