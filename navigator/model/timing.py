"""How long a mixture-of-experts model takes to read and to write: a model with stated assumptions, not a measurement.

One step of decoding writes one token for each of n streams. It takes

    fixed + experts · distinct(n) / 8 + n · kv

where `distinct(n) = 256 · (1 − (1 − 8/256)^n)` is the number of experts a layer is expected to read when each token
chooses 8 of 256 independently. `experts` and `kv` are shares of the single-stream step, so one stream writes exactly at the
single-stream speed whatever the shares are. Prompts are read one after the other at a rate of their own, and nothing is
written meanwhile. See docs/scheduling.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

EXPERTS = 256
CHOSEN = 8

_Speed = Annotated[float, Field(gt=0)]


def distinct_experts(tokens: int, experts: int = EXPERTS, chosen: int = CHOSEN) -> float:
    """Experts of a layer that `tokens` tokens are expected to need together, chosen independently and evenly."""
    return experts * (1.0 - (1.0 - chosen / experts) ** tokens)


@dataclass(frozen=True, slots=True)
class StepTimes:
    """One estimate of one model on one GPU.

    Attributes:
        load_seconds: from start until ready.
        decode: tokens a second of a single stream.
        prefill: prompt tokens read a second; cached ones cost nothing.
        expert_share: reading the chosen experts, as a share of the single-stream step, 0 to 1.
        kv_share: reading one stream's cache of keys and values, as a share of the same step.
    """

    load_seconds: Annotated[float, Field(ge=0)]
    decode: _Speed
    prefill: _Speed
    expert_share: float = 0.0
    kv_share: float = 0.0

    def step_seconds(self, streams: int) -> float:
        """Seconds of one step, which writes a token for each of `streams` streams (at least one)."""
        n = max(1, streams)
        grown = self.expert_share * (distinct_experts(n) / CHOSEN - 1.0) + self.kv_share * (n - 1)
        return (1.0 + grown) / self.decode

    def stream_speed(self, streams: int) -> float:
        """Tokens a second that each of `streams` concurrent streams writes."""
        return 1.0 / self.step_seconds(streams)

    def read_seconds(self, tokens: int) -> float:
        """Seconds to read `tokens` of a prompt that no cache holds."""
        return tokens / self.prefill
