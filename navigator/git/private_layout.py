"""How a private repository is laid out on disk: bare, without template, with section headings for hunks."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from navigator.git.facts import RepoFacts
from navigator.git.runner import Git
from navigator.model.json_text import table


def create(git_dir: Path, facts: RepoFacts) -> None:
    """Make an empty bare repository beside its place and move it there, so that a half-made one is never
    met."""
    git_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=git_dir.parent) as folder:
        made = Path(folder) / "made.git"
        made.mkdir(mode=0o700)
        Git(made, outside=facts.outside).run(
            "init",
            "--bare",
            "--quiet",
            "--template=",
            f"--object-format={facts.object_format}",
            "--initial-branch=none",
            config=("init.defaultRefFormat=files",),
        )
        (made / "info").mkdir(exist_ok=True)
        (made / "info" / "attributes").write_text(_attributes(), "ascii")
        (made / "objects" / "info").mkdir(exist_ok=True)
        try:
            made.rename(git_dir)
        except OSError:
            # Somebody else was quicker; theirs is as good.
            if not (git_dir / "HEAD").exists():
                raise


def _attributes() -> str:
    drivers = table(__package__, "git.toml")["drivers"].items()
    return "".join(f"{pattern} diff={driver}\n" for driver, patterns in drivers for pattern in patterns)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    fd, name = tempfile.mkstemp(prefix=f"{path.name}-", dir=path.parent)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)


def own_objects(git_dir: Path) -> Path:
    """The private repository's objects without those it borrows: a folder of links, made where it is missing.

    git sets the time of an object that it is about to write and finds somewhere, the user's objects among them. What is
    written through this folder is compared with the private objects alone.
    """
    objects = git_dir / "objects"
    folder = git_dir / "navigator" / "objects"
    names = ("pack", *(f"{number:02x}" for number in range(256)))
    # git takes empty ones away when it packs, and does not make a folder behind a link.
    for name in set(names).difference(held.name for held in objects.iterdir()):
        (objects / name).mkdir(exist_ok=True)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="own-", dir=folder.parent) as place:
        made = Path(place) / "made"
        made.mkdir()
        for name in names:
            (made / name).symlink_to(Path("../../objects") / name)
        try:
            made.rename(folder)
        except OSError:
            # Another thread was quicker.
            if not folder.is_dir():
                raise
    return folder
