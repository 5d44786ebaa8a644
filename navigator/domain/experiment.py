"""An experiment at swaps: two prompts or launch profiles, one of them drawn for each residency of a model."""

from __future__ import annotations

from typing import Literal

from navigator.domain.models import Model
from navigator.domain.states import Role

Subject = Literal["generator-prompt", "reviewer-prompt", "generator-profile", "reviewer-profile"]
Outcome = Literal["revise-rate", "exam", "tokens-per-second", "accept-length"]

SHARES = ("revise-rate", "exam")
"""Outcomes that are a share; the others are compared as a ratio."""


class Experiment(Model):
    """What is compared, as the settings had it when it began.

    Attributes:
        what: whose prompt or launch profile is drawn.
        arms: names of the two, the first one being what is used without the experiment.
        share: of residencies that get the second arm.
        outcome: what is compared.
        residencies: after so many it ends undecided.
        seed: of the draws: with a residency's number it gives the arm again.
        ended: UTC; "" while it runs. `ending` says why: "decided", "undecided", or "changed", where the settings ask for
            another one, or none.
    """

    id: int = 0
    name: str
    what: Subject
    arms: tuple[str, ...]
    share: float
    outcome: Outcome
    residencies: int
    seed: str
    started: str
    ended: str = ""
    ending: str = ""

    @property
    def role(self) -> Role:
        """Whose residencies are drawn."""
        return Role(self.what.partition("-")[0])

    @property
    def about(self) -> str:
        """What an arm is: "prompt" or "profile"."""
        return self.what.partition("-")[2]


class Residency(Model):
    """One residency of an experiment. The arm is drawn and stored before the model is loaded.

    Attributes:
        number: counts from 1 within the experiment.
        began: when the model answered; "" before. `ended` when it left; "" before.
        accept_length: tokens a step that speculation yielded in it, as the server counted when it left; None where it does not.
    """

    id: int = 0
    experiment_id: int
    number: int
    arm: str
    drawn: str
    began: str = ""
    ended: str = ""
    accept_length: float | None = None


class ResidencyOutcome(Model):
    """What a residency came to, for the outcome of its experiment.

    Attributes:
        hits: of `n` reviews or exam answers, those with REVISE or those that were right; 0 for the other outcomes.
        n: reviews, exam answers or calls.
        value: tokens per second or accept length; 0 where there is none.
        open: first proposals written in it that still wait for their verdict.
    """

    number: int
    arm: str
    ended: bool = False
    hits: int = 0
    n: int = 0
    value: float = 0.0
    open: int = 0
