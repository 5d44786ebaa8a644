"""`navigator finding`: what a finding is worth, and the precedents that wrong ones leave."""

from __future__ import annotations

import click

from navigator.actions.judging import WORDS, JudgeArgs, JudgeFinding
from navigator.cli import output
from navigator.cli.session import carry_out, complete_projects, complete_proposals, reading
from navigator.model.errors import UsageError

_CHOICES = {words.replace(" ", "-"): one for one, words in WORDS.items()}

_SHOWN = {"id", "criterion", "path", "quote", "message", "note"}


@click.command()
@click.argument("proposal", required=False, metavar="[P…", shell_complete=complete_proposals)
@click.argument("number", required=False, metavar="N", type=click.IntRange(min=1))
@click.argument(
    "judgement", required=False, metavar="right|wrong|not-worth-it]", type=click.Choice(list(_CHOICES))
)
@click.option("--note", default="", metavar="TEXT", help="Why; of a wrong finding it makes a precedent.")
@click.option("--withdraw", is_flag=True, help="Take back what you said of it, or drop the precedent.")
@click.option(
    "--list", "listing", metavar="PROJECT", shell_complete=complete_projects, help="Show precedents."
)
@click.option("--precedent", type=click.IntRange(min=1), metavar="N", help="Drop (--withdraw) one.")
@output.JSON
def finding(
    proposal: str | None,
    number: int | None,
    judgement: str | None,
    note: str,
    withdraw: bool,
    listing: str | None,
    precedent: int | None,
    as_json: bool,
) -> None:
    """Say whether finding N of a proposal is right, wrong, or true but not worth a change.

    `navigator diff P…` numbers the findings. This changes no verdict and blocks nothing; it is the reviewer's record. What you
    judge wrong does not count when the reviewer says it again of the same task; with a note it becomes a precedent, which
    later reviews in the project are shown where it is near.
    """
    if sum(one is not None for one in (proposal, listing, precedent)) != 1:
        raise UsageError("Name a finding, or one of --list and --precedent.")
    if listing:
        return _listed(listing, as_json)
    if withdraw == bool(judgement):
        raise UsageError("Say right, wrong or not-worth-it, or --withdraw; of a --precedent, --withdraw.")
    about = {"proposal": proposal or "", "number": number or 0, "precedent": precedent or 0}
    args = JudgeArgs(**about, judgement=_CHOICES.get(judgement or ""), note=note)
    return carry_out(JudgeFinding(), args, as_json=as_json)


def _listed(name: str, as_json: bool) -> None:
    with reading() as store:
        held = store.precedents(store.project(name).id)
    if as_json:
        output.print_json({"precedents": [one.model_dump(mode="json", include=_SHOWN) for one in held]})
        return
    if not held:
        output.say(f"{name} has no precedents. `navigator finding P… N wrong --note TEXT` makes one.")
    for one in held:
        output.prose(f"{one.criterion} {one.path}: {one.message}", "    ", first=f"{one.id:>3} ")
        output.prose(one.note, "    you: ")
