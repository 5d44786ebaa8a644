"""The launch profile with a chosen method in it, as `navigator swap install --profile FILE` reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from navigator.model.errors import UsageError
from navigator.model.json_text import read_toml
from navigator.model.states import Role

_METHODS = {
    "nextn": {"--speculative-algorithm": "NEXTN"},
    "mtp": {"--speculative-algorithm": "NEXTN"},
    "eagle": {"--speculative-algorithm": "EAGLE"},
    "eagle3": {"--speculative-algorithm": "EAGLE3"},
    "ngram": {"--speculative-algorithm": "NGRAM"},
}


def sglang_flags(method: str, gamma: int, arguments: Sequence[str] = ()) -> dict[str, str | bool]:
    """SGLang's flags for a method: those it was measured with, else the ones its name stands for.

    Raises:
        UsageError: the name is none of SGLang's methods and no arguments were recorded.
    """
    if arguments:
        return _paired(arguments)
    name = method.lower().replace("-", "").replace("_", "")
    known = next((flags for key, flags in _METHODS.items() if name == key), None)
    if known is None:
        raise UsageError(
            f"Navigator does not know which flags of SGLang {method} stands for.",
            hint=f"Methods: {', '.join(_METHODS)}; or decide from a file that `lab speculation measure` made.",
        )
    if name == "ngram":
        return {**known, "--speculative-num-draft-tokens": str(gamma + 1)}
    return {
        **known,
        "--speculative-num-steps": str(gamma),
        "--speculative-eagle-topk": "1",
        "--speculative-num-draft-tokens": str(gamma + 1),
    }


def _paired(words: Sequence[str]) -> dict[str, str | bool]:
    flags: dict[str, str | bool] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, joined, value = word.partition("=")
            flags[name] = value if joined else True
        elif name and flags[name] is True:
            flags[name] = word
        else:
            raise UsageError(f"{word} belongs to no flag of the recorded arguments.")
    return flags


def profile_with(source: Path, role: Role, flags: Mapping[str, str | bool], why: str) -> str:
    """The text of a profile whose `role` speculates with `flags`; everything else is as in `source`.

    Flags of the source's own speculation that the chosen ones do not name are dropped: they belong to its method.
    """
    table: dict[str, Any] = read_toml(source.read_text(encoding="utf-8"))
    kept = table[role.value].get("speculation", {}).get("environment", {})
    table[role.value]["speculation"] = {"flags": dict(flags)} | ({"environment": kept} if kept else {})
    lines = [
        f"# {source.name} with the speculation that `navigator lab speculation measure` chose for the {role.value}."
    ]
    lines += [f"# {why}", f"# Install: navigator swap install --profile FILE --speculate {role.value}", ""]
    _write(table, (), lines)
    return "\n".join(lines) + "\n"


def _write(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    """TOML of nested tables of strings, numbers, booleans and lists of strings: what a profile is made of."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    if path and (plain or not table):
        lines += ["", f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]
    for key, value in table.items():
        if isinstance(value, dict):
            _write(value, (*path, key), lines)


def _key(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isascii() and bare.isalnum() and not name.startswith("-") else json.dumps(name)
