"""`navigator keep-tests`: the tests that proved findings become part of the proposal."""

from __future__ import annotations

import click

from navigator.cascade.verbs.keep_tests import KeepTests, KeepTestsArgs
from navigator.cli import output
from navigator.cli.decide import TREE
from navigator.cli.session import act, complete_proposals, report


@click.command("keep-tests")
@click.argument("proposal", metavar="P…", shell_complete=complete_proposals)
@click.argument("tests", nargs=-1, metavar="[PATH…]")
@TREE
@output.JSON
def keep_tests(proposal: str, tests: tuple[str, ...], tree: str, as_json: bool) -> None:
    """Make a proposal of this one and the tests of its findings that pass on it.

    All checks run on the new proposal; approve it by its own id. Without PATH, every test that can be kept.
    """
    verb = KeepTests()
    result = act(verb, KeepTestsArgs(proposal=proposal, tests=tests, tree=tree))
    document = {"proposals": [result.part.model_dump(mode="json")], "tests": list(result.tests)}
    report(verb.tell(result), document if as_json else None)
