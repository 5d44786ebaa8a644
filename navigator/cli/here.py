"""The project that a command is about where none is named: the repository of the current folder."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from navigator.actions.projects import AddProject, untested
from navigator.cli import output
from navigator.cli.session import act, reading
from navigator.model.errors import UsageError


def project_of(folder: Path) -> str:
    """The name of the project whose repository `folder` is in; it is added if it is none yet.

    Raises:
        UsageError: the folder is in no repository. RepositoryError: Navigator cannot work on it.
    """
    from navigator.git.facts import repository_of

    top = repository_of(folder)
    if top is None:
        raise UsageError(
            f"{folder.resolve()} is in no git repository.",
            hint="Go to a repository's folder, or name a project: `navigator project list`.",
        )
    with reading() as store:
        known = next((held.name for held in store.projects() if held.path == str(top)), None)
    if known is not None:
        return known
    added = act(AddProject(path=str(top))).data
    name = str(added["project"]["name"])
    output.note(f"{name} is now a project ({top}). Nothing in it is changed.")
    output.prose(untested(name, added["proposed"]), err=True)
    return name


def targets(words: tuple[str, ...]) -> tuple[str, str]:
    """What `[PROJECT] [REF]` means: the project's name, and "" where no commit or range is given.

    A project can be named by its folder too. One word is a project where there is one of that name, else a commit here.

    Raises:
        UsageError: there are more than two words. NotFound: there is no such project.
    """
    if len(words) > 2:
        raise UsageError("At most a project and a commit or range are expected.")
    first, second = (*words, "", "")[:2]
    with reading() as store:
        names = [held.name for held in store.projects()]
        if first in names:
            return first, second
        if first in (".", "..") or ("/" in first and Path(first).expanduser().is_dir()):
            return project_of(Path(first).expanduser()), second
        if second or (get_close_matches(first, names, 1) and not _is_commit(first)):
            store.project(first)  # names the nearest one
    return project_of(Path.cwd()), first


def _is_commit(word: str) -> bool:
    """Whether the repository of the current folder knows it as a commit or range."""
    from navigator.git.facts import read_facts, repository_of

    top = repository_of(Path.cwd())
    return ".." in word or (
        top is not None
        and read_facts(top).git().run("rev-parse", "-q", "--verify", word, check=False).status == 0
    )
