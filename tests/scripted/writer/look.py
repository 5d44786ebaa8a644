"""What the rehearsal's generator looks at before it writes: files it is to change and cannot see, and where its rule applies."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.exam.chance import fraction
from navigator.model import patterns
from tests.scripted.reading import WritingPrompt
from tests.scripted.writer.rules import Rule, choose_rules

MOST_READ = 6
"""Files that are read in one look."""

CALLERS = 0.5
"""Share of the tasks naming a function whose uses are looked at first."""

TOO_MANY = 40
"""Files with places to change, beyond which a task is called too large."""

_FOUND = patterns.compile(r"^search .*: [\d,]+ lines? in ([\d,]+) files?", patterns.MULTILINE)
_PATH = patterns.compile(r"^(\S+\.(?:pyi?|md|markdown))$", patterns.MULTILINE)


def looks_first(prompt: WritingPrompt, seed: int) -> list[str]:
    """The requests that come before the answer to this conversation; empty where it sees enough."""
    if not prompt.may_look or prompt.turn != "first":
        return []
    rules, asked = choose_rules(prompt.task, prompt.kind, prompt.note)
    if prompt.looks:
        return _reads(_PATH.findall(prompt.looked), prompt) if _searched(prompt.looks[-1]) else []
    hidden = _reads([path for path in prompt.named if path in prompt.tree], prompt)
    if hidden or prompt.named:
        return hidden or _callers(prompt, seed)
    return _search(rules[0]) if asked and rules and rules[0].hints else []


def too_large(prompt: WritingPrompt) -> str:
    """Why the task is more than one change; "" where it is not known to be."""
    found = [int(number.replace(",", "")) for number in _FOUND.findall(prompt.looked)]
    if prompt.turn != "first" or not found or max(found) <= TOO_MANY:
        return ""
    return (
        f"{max(found)} files have places to change, more than one change can be checked; divide it by folder."
    )


def look_block(requests: Sequence[str], marker: int) -> str:
    """An answer that asks to be shown more."""
    lines = "\n".join(requests)
    return (
        f"Before I write, I look at what is not shown.\n\n{'<' * marker} LOOK\n{lines}\n{'>' * marker} LOOK\n"
    )


def _reads(paths: Sequence[str], prompt: WritingPrompt) -> list[str]:
    fresh = [path for path in dict.fromkeys(paths) if path not in prompt.files]
    return [f"read {path}" for path in fresh[:MOST_READ]]


def _searched(answer: str) -> bool:
    return "\nsearch " in answer


def _search(rule: Rule) -> list[str]:
    return [f"search {hint} *{rule.suffixes[0]}" for hint in rule.hints[:2]]


def _callers(prompt: WritingPrompt, seed: int) -> list[str]:
    names = patterns.findall(r"`(?:\w+\.)*(\w+)(?:\(\))?`", prompt.note or prompt.task)
    if not names or fraction("look", seed, prompt.task) >= CALLERS:
        return []
    return [f"uses {name}" for name in dict.fromkeys(names)][:2]
