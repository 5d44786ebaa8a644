"""Where a model's files lie on this machine: a folder, a GGUF file, or a snapshot in the Hugging Face cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from navigator.model import patterns

_SUFFIXES = (".safetensors", ".gguf")
_HUB_NAME = patterns.compile(r"[\w.-]+/[\w.-]+")
_MOST_FILES = 1000


def hub_cache() -> Path:
    """The folder with the hub's snapshots: HF_HUB_CACHE, HF_HOME/hub, or the usual one under the cache folder."""
    named = os.environ.get("HF_HUB_CACHE", "")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("HF_HOME", "")
    if home:
        return Path(home).expanduser() / "hub"
    cache = os.environ.get("XDG_CACHE_HOME", "") or "~/.cache"
    return Path(cache).expanduser() / "huggingface" / "hub"


def model_folder(model: str, model_dirs: Iterable[str] = ()) -> Path | None:
    """The folder with the model's files, or a GGUF file; None where it is not on this machine.

    Args:
        model: a path, or a name on the hub such as `Qwen/Qwen3-32B-AWQ`.
        model_dirs: folders that hold models as `DIR/name` or `DIR/owner/name`; looked into first.
    """
    if model.startswith(("/", "~", "./")):
        path = Path(model).expanduser()
        return path if path.exists() else None
    if not _HUB_NAME.fullmatch(model) and "/" in model:
        return None
    owner, _, name = model.rpartition("/")
    for folder in map(Path, model_dirs):
        for candidate in (folder.expanduser() / owner / name, folder.expanduser() / name):
            if owner not in ("..", ".") and name not in ("..", ".", "") and candidate.exists():
                return candidate
    return _snapshot(hub_cache() / f"models--{model.replace('/', '--')}")


def _snapshot(repository: Path) -> Path | None:
    """The snapshot that `main` names, as the servers choose it."""
    try:
        named = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    found = repository / "snapshots" / named
    return found if patterns.fullmatch(r"[0-9a-f]{40}", named) and found.is_dir() else None


def weight_files(model: str, model_dirs: Iterable[str] = ()) -> list[Path]:
    """The model's weight files with links followed, in the order of their names; [] where there are none.

    A folder that holds both kinds counts with its safetensors only, as the servers read it.
    """
    where = model_folder(model, model_dirs)
    if where is None:
        return []
    if where.is_file():
        return [where.resolve()] if where.suffix in _SUFFIXES else []
    for suffix in _SUFFIXES:
        found = sorted(path for path in where.glob(f"*{suffix}") if path.is_file())
        if found:
            return list(dict.fromkeys(path.resolve() for path in found[:_MOST_FILES]))
    return []


def total_bytes(files: Iterable[Path]) -> int:
    """The files' sizes, added up; one that went away counts nothing."""
    total = 0
    for path in files:
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total
