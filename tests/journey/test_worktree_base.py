"""A project whose base is `worktree`: tasks see what is not committed yet, and land once it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.config.settings import load_settings
from navigator.git.snapshot import NoWorktree
from navigator.model.errors import ConfigError
from navigator.model.models import Project
from navigator.model.states import TaskState
from navigator.tui.compose import look_at
from tests.journey.room import CODE, Room, edit, saying
from tests.journey.support import git, make_repository


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


def test_a_bare_repository_has_no_checkout_to_work_from(bare: Room, tmp_path: Path) -> None:
    code = make_repository(tmp_path / "code", {"app.py": b"x = 1\n"})
    git(tmp_path, "clone", "-q", "--bare", str(code), "bare.git")
    with pytest.raises(NoWorktree):
        bare.act("project.add", path=str(tmp_path / "bare.git"), base="worktree")


def test_the_ground_shows_the_checkouts_files(tmp_path: Path) -> None:
    code = make_repository(tmp_path / "code", {"app.py": b"x = 1\n"})
    (code / "new.py").write_bytes(b"n = 1\n")
    on_head = look_at(Project(id=1, name="code", path=str(code)))
    assert (on_head.paths, on_head.uncommitted) == (("app.py",), ("new.py",))
    on_work = look_at(Project(id=1, name="code", path=str(code), base="worktree"))
    assert (on_work.paths, on_work.uncommitted) == (("app.py", "new.py"), ())


@pytest.mark.parametrize("base", ["-x", "a..b"])
def test_a_base_that_can_be_no_branch_is_refused_in_the_settings(base: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[[project]]\npath = "/x"\nbase = "{base}"\n')
    with pytest.raises(ConfigError, match="base"):
        load_settings(file)
    file.write_text('[[project]]\npath = "/x"\nbase = "worktree"\n')
    assert load_settings(file).project[0].base == "worktree"
