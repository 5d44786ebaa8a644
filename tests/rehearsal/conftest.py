"""Sample projects, built once."""

from __future__ import annotations

import pytest

from tests.scripted.samples.repositories import SampleProject, SampleTask, sample_projects, sample_tasks


@pytest.fixture(scope="session")
def projects() -> list[SampleProject]:
    return sample_projects(24, 0)


@pytest.fixture(scope="session")
def tasks(projects: list[SampleProject]) -> list[SampleTask]:
    return sample_tasks(100, 0, projects)
