"""`navigator project check`: a project's own tests on its base, and what stands in their way."""

from __future__ import annotations

import sys
from typing import Any

import click

from navigator.cli import output
from navigator.cli.session import act, reading, take_config_projects
from navigator.domain.text import safe_line, safe_text

_SHOWN = 30


@click.command("check")
@click.argument("name")
@click.option("--set", "command", metavar="CMD", help="Keep CMD as the project's test command first.")
@click.option("--json", "as_json", is_flag=True)
def check(name: str, command: str | None, as_json: bool) -> None:
    """Run NAME's test command once on its base, in the sandbox, and explain what is missing.

    Exit code 0: the tests pass. 1: they fail, which proposals are not blamed for. 3: they could not be run, or none ran.
    """
    _announce(name, command)
    found = act("project.check", {"name": name, **({} if command is None else {"command": command})})
    if as_json:
        output.print_json(found)
    else:
        _show(found)
    baseline = found["baseline"]
    outcome = baseline["outcome"] if baseline else "untested"
    if outcome != "passed":
        sys.exit(1 if outcome == "failed" else 3)


def _announce(name: str, command: str | None) -> None:
    """Say what begins now: tests may take minutes. Nothing where there is nothing to run."""
    if command is None:
        take_config_projects()
        with reading() as store:
            command = store.project(name).check
    if command.strip():
        output.note(f"Running the tests on the base: `{safe_line(command.strip())}` …")


def _show(found: dict[str, Any]) -> None:
    output.say(f"{found['project']}  base {found['base'][:12]}")
    if not found["command"]:
        _propose(found)
        return
    output.say(f"  command: {safe_line(found['command'])}")
    _sandbox(found)
    for title, key in (("dependencies", "dependencies"), ("mounts", "mounts"), ("toolchains", "toolchains")):
        if found[key]:
            output.say(f"  {title}, read-only inside: {', '.join(map(safe_line, found[key]))}")
    for mount in found["mounts_absent"]:
        output.say(f"  ! check_mounts names {safe_line(mount)}, which is not there.")
    baseline = found["baseline"]
    outcome, detail = baseline["outcome"], baseline["detail"]
    mark = {"passed": "✓", "failed": "✗"}.get(outcome, "–")
    line, _, rest = detail.partition("\n")
    output.say(f"{mark} {outcome}: {safe_line(line)}  ({output.duration(baseline['seconds'])})")
    for name in baseline["failures"][:_SHOWN]:
        output.say(f"    {safe_line(name)}")
    if len(baseline["failures"]) > _SHOWN:
        output.say(f"    and {len(baseline['failures']) - _SHOWN} more")
    if outcome == "failed":
        output.say("  They fail without any proposal: only what fails beyond this is laid to a proposal.")
    if outcome == "failed" and not baseline["failures"]:
        output.say("  The output names no failing test, so a proposal's own failures cannot be told apart.")
    if outcome != "passed":
        output.say(safe_text(rest.strip()))
        for hint in found["hints"]:
            output.say(f"  → {safe_line(hint)}")


def _propose(found: dict[str, Any]) -> None:
    output.say("– untested: the project has no test command.")
    if found["proposed"]:
        command = found["proposed"]
        output.say(f"  It seems to be: {command}")
        output.say(f"  Keep and try it: navigator project check {found['project']} --set {command!r}")
    else:
        output.say(f"  Give it one: navigator project check {found['project']} --set CMD")
    for hint in found["hints"]:
        output.say(f"  → {safe_line(hint)}")


def _sandbox(found: dict[str, Any]) -> None:
    sandbox = found["sandbox"]
    if sandbox["unsandboxed"]:
        output.say("  ! runs UNSANDBOXED, as `[checks] unsandboxed` says: what a model wrote runs as you.")
    elif sandbox["works"]:
        group = ", in a control group of its own" if sandbox["control_group"] else ""
        output.say(f"  sandbox: bubblewrap, no network, no home{group}")
    else:
        output.say(f"  ✗ no sandbox: {safe_line(sandbox['reason'])}")
        output.say(f"  → {safe_text(sandbox['hint'])}")
