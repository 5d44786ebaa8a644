"""Which of the models that were found writes and which reviews, how they share the card, and the settings that say so."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.client.body import same_model
from navigator.config.reference import toml
from navigator.model import patterns
from navigator.model.errors import UsageError
from navigator.model.text import safe_line
from navigator.setup.servers import FoundServer

GUESSED_CONTEXT = 32_768
"""Tokens, where a server does not say what its model was loaded with."""

SMALL_CONTEXT = 16_384
"""Tokens: with fewer, most changes and their surroundings do not fit."""

_MOST_ANSWER = 5_000
_SIZE = patterns.compile(r"(a?)(\d+(?:\.\d+)?)b", patterns.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pick:
    """One role's model and the server that has it."""

    model: str
    server: FoundServer


def picks(servers: Sequence[FoundServer]) -> list[Pick]:
    """Everything that can be chosen."""
    return [Pick(model, server) for server in servers for model in server.models]


def named(found: Sequence[Pick], wanted: str) -> Pick:
    """The model of that name.

    Raises:
        UsageError: no server lists it.
    """
    for pick in found:
        if same_model(wanted, pick.model):
            return pick
    listed = ", ".join(safe_line(pick.model) for pick in found)
    raise UsageError(f"No server that answers lists {wanted}.", hint=f"They list: {listed}.")


def suggested(found: Sequence[Pick]) -> tuple[Pick, Pick]:
    """Which one to write and which one to review, by the sizes in their names: fewest active parameters, and most in all."""

    def total(pick: Pick) -> float:
        return max((float(size) for active, size in _sizes(pick.model) if not active), default=0.0)

    def active(pick: Pick) -> float:
        return min((float(size) for _, size in _sizes(pick.model)), default=0.0)

    reviewer = max(found, key=total)
    others = [pick for pick in found if pick is not reviewer]
    return min(others, key=active, default=reviewer), reviewer


def _sizes(model: str) -> list[tuple[str, str]]:
    found = (_SIZE.fullmatch(part) for part in patterns.split(r"[-_:/ ]", model))
    return [(match[1], match[2]) for match in found if match]


def strategy_for(writes: Pick, reviews: Pick) -> tuple[str, str]:
    """The strategy, and why it is this one."""
    here, there = writes.server, reviews.server
    if here.url != there.url:
        return "resident", "each model has a server of its own, and both answer now"
    if same_model(writes.model, reviews.model):
        return "resident", "one model plays both roles, so nothing is swapped"
    if here.loads:
        return "managed", f"{here.name} loads the model that it is asked for"
    if here.name == "LM Studio" and not {writes.model, reviews.model} <= set(here.loaded):
        return "command", "LM Studio's own command `lms` loads one model and unloads the other"
    return "resident", f"{here.name} lists both models and does not say that it swaps them"


def settings_text(
    writes: Pick, reviews: Pick, strategy: str, why: str, contexts: tuple[int | None, int | None]
) -> str:
    """The settings file, with comments."""
    lines = [
        "# Every key: docs/settings.md, or `navigator config show`. `navigator doctor` checks what this says.",
        "",
    ]
    roles = (
        ("generator", "writes the changes", writes, contexts[0]),
        ("reviewer", "reviews them", reviews, contexts[1]),
    )
    for role, does, pick, context in roles:
        tokens = context or GUESSED_CONTEXT
        origin = (
            f"as {pick.server.name} says"
            if context
            else "a guess: the server does not say what it was started with"
        )
        lines += [
            f"[{role}]  # {does}",
            f"model = {toml(pick.model)}",
            f"base_url = {toml(pick.server.url)}",
            f"context_tokens = {tokens}  # {origin}",
            f"max_tokens = {min(_MOST_ANSWER, tokens // 4)}  # of one answer",
            "",
        ]
    lines += ["[swap]", f"strategy = {toml(strategy)}  # {why}", ""]
    if strategy == "command" and writes.server.name == "LM Studio":
        loads = "; ".join(
            f"{role}) lms load {shlex.quote(pick.model)} --context-length {context or GUESSED_CONTEXT} -y ;"
            for role, _, pick, context in roles
        )
        script = f'lms unload --all && case "$1" in {loads}; esac'
        lines += ["[swap.command]", f"argv = {toml(['sh', '-ec', script, 'swap', '{role}'])}", ""]
    return "\n".join(lines)
