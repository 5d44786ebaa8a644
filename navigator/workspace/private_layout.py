"""How a private repository is laid out on disk: bare, without template, with section headings for hunks."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from navigator.workspace.facts import RepoFacts
from navigator.workspace.runner import Git

# Section headings of hunks come from git's built-in drivers, which only an attribute switches on. The private
# repository has no other attributes: it is bare, and the user's are switched off.
_ATTRIBUTES = "".join(
    f"{pattern} diff={driver}\n"
    for driver, patterns in {
        "python": ("*.py", "*.pyi"),
        "cpp": ("*.c", "*.h", "*.cc", "*.cpp", "*.hpp"),
        "golang": ("*.go",),
        "rust": ("*.rs",),
        "java": ("*.java",),
        "kotlin": ("*.kt",),
        "csharp": ("*.cs",),
        "ruby": ("*.rb",),
        "php": ("*.php",),
        "css": ("*.css",),
        "html": ("*.html",),
        "markdown": ("*.md",),
        "bash": ("*.sh",),
    }.items()
    for pattern in patterns
)


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
        (made / "info" / "attributes").write_text(_ATTRIBUTES, "ascii")
        (made / "objects" / "info").mkdir(exist_ok=True)
        try:
            made.rename(git_dir)
        except OSError:
            # Somebody else was quicker; theirs is as good.
            if not (git_dir / "HEAD").exists():
                raise


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    fd, name = tempfile.mkstemp(prefix=f"{path.name}-", dir=path.parent)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)
