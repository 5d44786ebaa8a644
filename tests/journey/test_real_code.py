"""The whole loop on real code: the sources of installed packages, every rung and refusal counted."""

from __future__ import annotations

import ast
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.journey.support import Desk, differences, fingerprint, git, make_repository, package_files

PACKAGES = (
    "textual",
    "httpx",
    "httpcore",
    "GitPython",
    "pydantic",
    "rich",
    "Pygments",
    "Jinja2",
    "click",
    "platformdirs",
    "hypothesis",
    "pytest",
    "anyio",
    "h11",
    "markdown-it-py",
)

KINDS = ("docs", "fix", "implement", "test", "refactor")
VAGUE = (
    ("refactor", "Make this code a little cleaner without changing what it does"),
    ("security", "Look for network calls without a timeout and give them one"),
    ("fix", "Fix comparisons to None"),
    ("docs", "Document what is public and undocumented"),
    ("scan", "Where would a new contributor get lost? Report it."),
    ("architecture", "Describe how the parts of this project depend on one another"),
)
NAMED_TASKS = 6


def tasks_for(project: str, number: int, files: dict[str, bytes]) -> list[dict[str, Any]]:
    """Tasks on one project: some name a file as an option, some only in their words, some not at all."""
    fit = [
        path
        for path, content in sorted(files.items())
        if path.endswith((".py", ".md")) and "/__" not in path and 0 < len(content) < 40_000
    ]
    found: list[dict[str, Any]] = []
    for turn, path in enumerate(fit[:NAMED_TASKS]):
        task = {"project": project, "text": f"Note {turn} in {path}", "kind": KINDS[turn % len(KINDS)]}
        found.append(task if turn % 2 else {**task, "files": [path]})
    for turn in range(2):
        kind, text = VAGUE[(number * 2 + turn) % len(VAGUE)]
        found.append({"project": project, "text": text, "kind": kind})
    return found


def toml_of(tasks: list[dict[str, Any]]) -> str:
    """Tasks as the file that `navigator task add --from` reads."""
    tables = ["\n".join(f"{key} = {json.dumps(value)}" for key, value in task.items()) for task in tasks]
    return "".join(f"[[task]]\n{table}\n" for table in tables)


def parse_errors(repository: Path, base: str) -> tuple[int, list[str]]:
    """How many files the landed branches changed, and those whose Python cannot be read."""
    count, broken = 0, []
    branches = git(repository, "for-each-ref", "--format=%(refname)", "refs/heads/navigator").splitlines()
    for branch in branches:
        for commit in git(repository, "rev-list", branch, f"^{base}").splitlines():
            names = git(
                repository,
                "diff-tree",
                "-r",
                "-z",
                "--name-only",
                "--no-commit-id",
                "--diff-filter=d",
                commit,
            )
            for name in filter(None, names.split("\0")):
                count += 1
                if not name.endswith((".py", ".pyi")):
                    continue
                try:
                    ast.parse(git(repository, "cat-file", "blob", f"{commit}:{name}"))
                except SyntaxError as error:
                    broken.append(f"{repository.name} {branch} {commit[:12]} {name}: {error}")
    return count, broken


def report_on(desk: Desk, session: dict[str, Any], decisions: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts by state, rung of the ladder and error code."""
    with desk.reading() as store:
        proposals = store.proposals()
        tasks = store.tasks()
        edits = store.edit_totals()
    return {
        "tasks": len(tasks),
        "states": dict(sorted(Counter(task.state.value for task in tasks).items())),
        "why_failed": dict(
            Counter(task.reason.split(":")[0][:80] for task in tasks if task.state == "failed")
        ),
        "rungs": dict(
            Counter(edit.rung.value for proposal in proposals for edit in proposal.edits).most_common()
        ),
        "edit_codes": dict(edits.codes),
        "verdicts": session["verdicts"],
        "rounds": session["rounds"],
        "swaps": session["swaps"],
        "calls": session["calls"],
        "landings": dict(Counter(row["landing"] or "not recorded" for row in decisions).most_common()),
    }


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_on_real_code_what_lands_parses_and_nothing_is_touched_before(
    tmp_path: Path, record_property: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk.make(tmp_path / "desk")
    repositories: dict[str, Path] = {}
    queued: list[dict[str, Any]] = []
    for number, package in enumerate(PACKAGES):
        files = package_files(package)
        name = package.lower()
        repositories[name] = make_repository(tmp_path / "code" / name, files)
        queued += tasks_for(name, number, files)
    before = {name: fingerprint(folder) for name, folder in repositories.items()}

    for name, folder in repositories.items():
        desk.run("project", "add", str(folder), "--name", name)
    tasks = tmp_path / "tasks.toml"
    tasks.write_text(toml_of(queued), encoding="utf-8")
    desk.run("task", "add", "--from", str(tasks))
    # Exit code 1 says that a task failed; which ones may, the report below tells.
    session = desk.json("run", "--until", "idle", "--time-scale", "0", codes=(0, 1))

    for name, folder in repositories.items():
        assert differences(before[name], fingerprint(folder)) == [], f"{name} was touched before approval"

    approval = desk.json("approve", "--all-reviewed", "--include-unseen", "--yes", codes=(0, 1))
    report = report_on(desk, session, approval["decisions"])
    with capsys.disabled():
        print(f"\n{json.dumps(report, indent=1)}")
    if path := os.environ.get("NAVIGATOR_REPORT"):
        Path(path).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    record_property("report", json.dumps(report))

    # Every task came to an end that a developer can act on, and not merely by failing.
    ended = {"awaiting_approval", "approved", "landed", "stale", "failed"}
    assert set(report["states"]) <= ended, report["states"]
    assert report["states"]["failed"] <= len(queued) // 10 if "failed" in report["states"] else True
    assert report["verdicts"]["unreviewed"] == 0
    assert report["calls"]["running"] == report["calls"]["lost"] == 0
    landed = [row for row in approval["decisions"] if row["landing"] == "landed"]
    assert len(landed) >= len(PACKAGES)
    assert report["verdicts"]["revise"] > 0
    assert [row for row in approval["decisions"] if not row["recorded"]] == []

    changed = 0
    for name, folder in repositories.items():
        base = git(folder, "rev-parse", "main")
        count, broken = parse_errors(folder, base)
        assert broken == []
        changed += count
        # Landing adds objects and a branch of Navigator's own; checkout, index, HEAD, config and main stay.
        for entry in differences(before[name], fingerprint(folder)):
            assert re.match(r"\.git(/objects|/refs/heads|/logs|/refs/heads/navigator|$)", entry), entry
            assert entry not in (".git/refs/heads/main", ".git/logs/HEAD", ".git/logs/refs/heads/main")
        git(folder, "fsck", "--strict", "--no-dangling")
    assert changed >= len(landed)
