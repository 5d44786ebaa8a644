"""`navigator project check`: run a project's own tests on its base."""

from __future__ import annotations

import sys

import click

from navigator.cascade.verbs.project_check import CheckProject, CheckProjectArgs, ProjectChecked, SandboxFound
from navigator.cli import output
from navigator.cli.session import act, complete_projects, reading, take_config_projects
from navigator.model.secrets import MOST_VALUES
from navigator.model.states import CheckOutcome
from navigator.model.text import safe_line, safe_text

_SHOWN = 30


@click.command("check")
@click.argument("name", shell_complete=complete_projects)
@click.option("--set", "command", metavar="CMD", help="Save CMD as the project's test command first.")
@output.JSON
def check(name: str, command: str | None, as_json: bool) -> None:
    """Run NAME's test command once on its base, in the sandbox, and explain what is missing.

    Exit code 0: the tests pass. 1: they fail; proposals are not blamed for that. 3: they could not run, or none ran.
    """
    _announce(name, command)
    found = act(CheckProject(), CheckProjectArgs(name=name, command=command))
    if as_json:
        output.print_json(found.model_dump(mode="json"))
    else:
        _show(found)
    if found.outcome is not CheckOutcome.PASSED:
        sys.exit(1 if found.outcome is CheckOutcome.FAILED else 3)


def _announce(name: str, command: str | None) -> None:
    """Say that the tests start: they may take minutes. Says nothing where there is nothing to run."""
    if command is None:
        take_config_projects()
        with reading() as store:
            command = store.project(name).check
    if command.strip():
        output.note(f"Running the tests on the base: `{safe_line(command.strip())}` …")


def _show(found: ProjectChecked) -> None:
    output.say(f"{found.project}  base {found.base[:12]}")
    if found.baseline is None:
        _propose(found)
        return
    output.say(f"  command: {safe_line(found.command)}")
    _sandbox(found.sandbox)
    for title, paths in (
        ("dependencies", found.dependencies),
        ("mounts", found.mounts),
        ("toolchains", found.toolchains),
    ):
        if paths:
            output.say(f"  {title}, read-only inside: {', '.join(map(safe_line, paths))}")
    for mount in found.mounts_absent:
        output.say(
            f"  ! check_mounts lists {safe_line(mount)}, which does not exist or is a link of the repository."
        )
    if found.unredacted:
        output.say(
            f"  ! Files with secrets hold more than {MOST_VALUES:,} values: the rest is not redacted in what tests print."
        )
    baseline = found.baseline
    failed = baseline.outcome is CheckOutcome.FAILED
    mark = {CheckOutcome.PASSED: "✓", CheckOutcome.FAILED: "✗"}.get(baseline.outcome, "–")
    line, _, rest = baseline.detail.partition("\n")
    output.say(f"{mark} {baseline.outcome.value}: {safe_line(line)}  ({output.duration(baseline.seconds)})")
    for name in baseline.failures[:_SHOWN]:
        output.say(f"    {safe_line(name)}")
    if len(baseline.failures) > _SHOWN:
        output.say(f"    and {len(baseline.failures) - _SHOWN} more")
    if failed:
        output.say("  They fail without any proposal: a proposal is blamed only for further failures.")
    if failed and not baseline.failures:
        output.say(
            "  The output names no failing test, so failures of a proposal cannot be compared with these."
        )
    if baseline.outcome is not CheckOutcome.PASSED:
        output.say(safe_text(rest.strip()))
        for hint in found.hints:
            output.say(f"  → {safe_line(hint)}")


def _propose(found: ProjectChecked) -> None:
    output.say("– untested: the project has no test command.")
    if found.proposed:
        output.say(f"  It seems to be: {found.proposed}")
        output.say(f"  Save and try it: navigator project check {found.project} --set {found.proposed!r}")
    else:
        output.say(f"  Set one: navigator project check {found.project} --set CMD")
    for hint in found.hints:
        output.say(f"  → {safe_line(hint)}")


def _sandbox(sandbox: SandboxFound) -> None:
    if sandbox.unsandboxed:
        output.say(
            "  ! runs UNSANDBOXED because of `[checks] unsandboxed`: code that a model wrote runs as you."
        )
    elif sandbox.works:
        group = ", in its own control group" if sandbox.control_group else ""
        output.say(f"  sandbox: bubblewrap, no network, no home{group}")
    else:
        output.say(f"  ✗ no sandbox: {safe_line(sandbox.reason)}")
        output.say(f"  → {safe_text(sandbox.hint)}")
