"""The environment of all tests, which of them the quick loop leaves out, and what is said of those that could not run."""

from __future__ import annotations

# Before anything reads a variable.
from tests.environment import HOME  # isort: skip

import os
import re
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test asserts a duration, and Hypothesis is not to do so either: a busy machine is no fault.
settings.register_profile(
    "untimed",
    deadline=None,
    max_examples=int(os.environ.get("NAVIGATOR_EXAMPLES", "40")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")

ROOT = Path(__file__).parent

# Files whose tests each start processes or draw the whole app. What they test is also tested in parts elsewhere.
WHOLE = (
    "agents/test_agent_killed.py",
    "cli/test_commands.py",
    "cli/test_context.py",
    "cli/test_dead_servers.py",
    "cli/test_newcomer.py",
    "cli/test_report.py",
    "cli/test_reviews.py",
    "cli/test_split.py",
    "cli/test_swap_command.py",
    "client/test_command.py",
    "client/test_sleep.py",
    "client/test_swap.py",
    "exam/test_afterlife.py",
    "fuzz/test_patterns.py",
    "git/test_hunks.py",
    "git/test_kinds.py",
    "journey/test_ahead.py",
    "journey/test_exam_run.py",
    "journey/test_existing.py",
    "journey/test_kill_matrix.py",
    "journey/test_links.py",
    "journey/test_read_ahead.py",
    "journey/test_reverts.py",
    "journey/test_socket.py",
    "journey/test_split.py",
    "lab/test_measure.py",
    "lab/test_runs.py",
    "mcp/test_server.py",
    "rehearsal/test_server.py",
    "schedule/test_forecast.py",
    "sheet/test_decisions.py",
    "swap_install/test_round_trip.py",
    "swap_install/test_units.py",
    "tui/diff/test_snapshots.py",
    "tui/diff/test_view.py",
    "tui/test_answers.py",
    "tui/test_approve_batch.py",
    "tui/test_choosing_hunks.py",
    "tui/test_compose.py",
    "tui/test_conductor_link.py",
    "tui/test_deck.py",
    "tui/test_fleet.py",
    "tui/test_footer.py",
    "tui/test_keys.py",
    "tui/test_pictures.py",
    "tui/test_review.py",
    "tui/test_reviewing_existing.py",
    "tui/test_statistics.py",
)

SESSIONS = {"models", "swapped"}
"""Fixtures of tests that run whole sessions with scripted models."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Of `-n auto`: two more than processors, since half of the time tests wait for processes and servers."""
    return len(os.sched_getaffinity(0)) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them; a name in WHOLE that is no file's is an error, so that a moved file does not come back unseen."""
    whole = {ROOT / name for name in WHOLE}
    gone = sorted(str(path) for path in whole if not path.is_file())
    if gone:
        raise pytest.UsageError(f"tests/conftest.py: WHOLE names what is not there: {', '.join(gone)}")
    for item in items:
        if item.path in whole or SESSIONS & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.slow)


def pytest_unconfigure() -> None:
    """Remove the home folder."""
    HOME.cleanup()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Say what was skipped, a line for each group (a reason is "group: what to do"), and leave the lists for `.ci/run`."""
    groups = defaultdict[str, list[str]](list)
    for report in terminalreporter.stats.get("skipped", ()):
        group, _, remedy = report.longrepr[2].removeprefix("Skipped: ").partition(": ")
        groups[group].append(remedy)
    if groups:
        terminalreporter.section("skipped")
    for group, remedies in sorted(groups.items()):
        said = "; ".join(sorted({remedy for remedy in remedies if remedy}))
        terminalreporter.line(f"{group}: {len(remedies)} skipped{said and ', '}{said}")
    if exitstatus > pytest.ExitCode.TESTS_FAILED or not hasattr(config, "cache"):
        return
    lists = config.cache.mkdir("navigator")
    for name, kinds in (("failed", ("failed", "error")), ("skipped", ("skipped",))):
        reports = [report for kind in kinds for report in terminalreporter.stats.get(kind, ())]
        # With xdist, those of a group are named NAME@GROUP.
        names = {re.sub(r"@[a-z0-9_-]+$", "", report.nodeid) for report in reports}
        (lists / name).write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")
