"""A project whose base is `worktree`: tasks see what is not committed yet, and land once it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.config.settings import load_settings
from navigator.model.errors import ConfigError
from navigator.model.states import TaskState
from tests.journey.room import CODE, Room, edit, saying
from tests.journey.support import git


def test_a_task_on_uncommitted_work_and_its_landing(bare: Room) -> None:
    room = bare
    room.models.write = saying(edit("return x * 2", old="return x + x  # mine"))
    code = room.add({"app.py": CODE}, check="", base="worktree")
    (code / "app.py").write_text(CODE.replace("x + x", "x + x  # mine"))
    proposal = room.done()
    assert room.task(proposal.task_id).state is TaskState.AWAITING_APPROVAL
    assert proposal.base_commit != git(code, "rev-parse", "HEAD")
    row = room.approve(proposal)
    assert row["landing"] == "refused" and "uncommitted work: app.py" in row["reason"]
    # The approval stands, and no attempt begins anew for it.
    assert room.task(proposal.task_id).state is TaskState.APPROVED
    git(code, "commit", "-q", "-am", "Mine")
    row = room.approve(proposal)
    assert row["landing"] == "landed"
    assert git(code, "show", f"{row['commit']}:app.py") == "def double(x):\n    return x * 2"


@pytest.mark.parametrize("base", ["-x", "a..b"])
def test_a_base_that_can_be_no_branch_is_refused_in_the_settings(base: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[[project]]\npath = "/x"\nbase = "{base}"\n')
    with pytest.raises(ConfigError, match="base"):
        load_settings(file)
    file.write_text('[[project]]\npath = "/x"\nbase = "worktree"\n')
    assert load_settings(file).project[0].base == "worktree"
