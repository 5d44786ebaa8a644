"""`navigator finding`: what a finding is worth."""

from __future__ import annotations

import click

from navigator.actions.judging import WORDS, JudgeArgs, JudgeFinding
from navigator.cli import output
from navigator.cli.session import act, complete_proposals, report
from navigator.model.errors import UsageError

_CHOICES = {words.replace(" ", "-"): one for one, words in WORDS.items()}


@click.command()
@click.argument("proposal", metavar="P…", shell_complete=complete_proposals)
@click.argument("number", metavar="N", type=click.IntRange(min=1))
@click.argument("judgement", required=False, type=click.Choice(list(_CHOICES)))
@click.option("--note", default="", metavar="TEXT", help="Why.")
@click.option("--withdraw", is_flag=True, help="Take back what you said of it.")
@output.JSON
def finding(
    proposal: str, number: int, judgement: str | None, note: str, withdraw: bool, as_json: bool
) -> None:
    """Say whether finding N of a proposal is right, wrong, or true but not worth a change.

    `navigator diff P…` numbers the findings. This changes no verdict and blocks nothing; it is the reviewer's record. What you
    judge wrong does not count when the reviewer says it again of the same task.
    """
    if withdraw == bool(judgement):
        raise UsageError("Say right, wrong or not-worth-it, or --withdraw.")
    chosen = _CHOICES[judgement] if judgement else None
    verb = JudgeFinding()
    result = act(verb, JudgeArgs(proposal=proposal, number=number, judgement=chosen, note=note))
    report(verb.tell(result), result.model_dump(mode="json") if as_json else None)
