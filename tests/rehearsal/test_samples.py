"""Sample projects look like repositories, their tests pass, and there is work in them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from navigator.checks.syntax import syntax_check
from tests.scripted.samples.repositories import NAMES, SampleProject, sample_projects, sample_tasks


def test_projects_are_distinct_and_of_a_good_size(projects: list[SampleProject]) -> None:
    assert len({project.name for project in projects}) == 24
    assert all(8 <= len(project.files) <= 20 for project in projects)
    assert len({project.files["README.md"] for project in projects}) == 24
    assert all(any(path.startswith("tests/test_") for path in project.files) for project in projects)


def test_every_python_file_parses(projects: list[SampleProject]) -> None:
    for project in projects:
        for path, data in project.files.items():
            assert syntax_check(path, data) is None, (project.name, path)


def test_the_odd_files_of_real_repositories_are_there(projects: list[SampleProject]) -> None:
    contents = [(path, data) for project in projects for path, data in project.files.items()]

    assert any(b"\r\n" in data for _, data in contents)
    assert any(data and not data.endswith(b"\n") for _, data in contents)
    assert any(path.endswith("__init__.py") and data == b"" for path, data in contents)
    assert any(b"latin-1" in data and _not_utf8(data) for _, data in contents)
    assert any("AGENTS.md" in project.files for project in projects)
    assert not all("AGENTS.md" in project.files for project in projects)
    for project in projects:
        assert project.executable <= set(project.files)
    assert any(project.executable for project in projects)


def _not_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_a_projects_own_tests_pass(projects: list[SampleProject], tmp_path: Path, number: int) -> None:
    project = projects[number]
    for path, data in project.files.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    command = [sys.executable if word == "python3" else word for word in project.check.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "Ran 0 tests" not in done.stderr


def test_more_projects_than_names_are_numbered() -> None:
    assert [project.name for project in sample_projects(26, 0)][24:] == [
        f"{NAMES[0][0]}-2",
        f"{NAMES[1][0]}-2",
    ]


def test_the_same_seed_gives_the_same_and_another_gives_others() -> None:
    assert sample_projects(3, 7) == sample_projects(3, 7)
    assert sample_projects(3, 7) != sample_projects(3, 8)


def test_tasks_are_distinct_spread_and_varied(projects: list[SampleProject]) -> None:
    tasks = sample_tasks(36, 0, projects)

    assert len({(task.project, task.text) for task in tasks}) == 36
    assert {task.project for task in tasks} == {project.name for project in projects}
    assert len({task.kind for task in tasks}) >= 5
    assert len({task.complexity for task in tasks}) == 3
    by_name = {project.name: project for project in projects}
    assert all(set(task.files) <= set(by_name[task.project].files) for task in tasks)


def test_some_tasks_meet_in_a_file(projects: list[SampleProject]) -> None:
    tasks = sample_tasks(60, 0, projects)

    named = Counter((task.project, path) for task in tasks for path in task.files)

    assert any(count > 1 for count in named.values())


def test_tasks_end_when_there_is_no_more_work() -> None:
    (project,) = sample_projects(1, 0)

    tasks = sample_tasks(1000, 0, [project])

    assert 10 < len(tasks) < 200
