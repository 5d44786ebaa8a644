"""What the generator says where no edit is asked for: a report of what its rules would find."""

from __future__ import annotations

import libcst as cst

from navigator.rehearsal.reading import WritingPrompt
from navigator.rehearsal.rules import RULES
from navigator.rehearsal.work import LARGEST_FILE

_MOST_LINES = 20


def write_report(prompt: WritingPrompt) -> str:
    """A Markdown list of places worth a task; "OK." where no file is shown, so that a probe gets a short answer."""
    if not prompt.files:
        return "OK."
    found: list[str] = []
    for path, text in prompt.files.items():
        if len(text) > LARGEST_FILE:
            found.append(f"- `{path}` is longer than {LARGEST_FILE:,} characters and was not read.")
            continue
        for rule in RULES:
            if not path.endswith(rule.suffixes) or not rule.may_apply(text):
                continue
            try:
                outcome = rule.apply(text.replace("\r\n", "\n"), frozenset(), frozenset())
            except (cst.ParserSyntaxError, cst.CSTValidationError, ValueError, RecursionError):
                continue
            if outcome.changed:
                found.append(f"- `{path}`: {outcome.seen} for {rule.name}.")
    if not found:
        return f"Read {len(prompt.files)} files and found nothing that my rules would change.\n"
    return "\n".join([f"Read {len(prompt.files)} files. Worth a task each:", "", *found[:_MOST_LINES]]) + "\n"
