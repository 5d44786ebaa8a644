"""Make a git repository out of given files: what `navigator demo` works on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from navigator.domain.errors import Conflict
from navigator.workspace.git.runner import Git

_PERSON = ("user.name=Navigator demo", "user.email=demo@navigator.invalid")


def make_repository(folder: Path, files: Mapping[str, bytes], *, executable: Collection[str] = ()) -> None:
    """A new repository at `folder` with one commit of `files` on the branch main.

    Raises:
        Conflict: the folder exists and is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise Conflict(f"{folder} is not empty.", hint="Remove it, or choose another folder.")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if name in executable:
            path.chmod(0o755)
    git = Git(folder / ".git", work_tree=folder, config=_PERSON)
    git.run("init", "--quiet", "--template=", "--initial-branch=main")
    # The sample brings its own people along, so that approving works where git does not know its user.
    git.run("config", "user.name", "Navigator demo")
    git.run("config", "user.email", "demo@navigator.invalid")
    git.run("add", "--all")
    git.run("commit", "--quiet", "--no-gpg-sign", "-m", "Start the sample project")
