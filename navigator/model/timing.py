"""How long a mixture-of-experts model takes to read and to write: a model with stated assumptions, not a measurement.

One step of decoding writes one token for each of n streams. It takes

    fixed + experts · distinct(n) / 8 + n · kv

where `distinct(n) = 256 · (1 − (1 − 8/256)^n)` is the number of experts a layer is expected to read when each token
chooses 8 of 256 independently. `experts` and `kv` are shares of the single-stream step, so one stream writes exactly at the
single-stream speed whatever the shares are. Prompts are read one after the other at a rate of their own, and nothing is
written meanwhile. Uncertain figures carry a band: `fast` and `slow` around `mid`. See docs/scheduling.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EXPERTS = 256
CHOSEN = 8


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

    load_seconds: float
    decode: float
    prefill: float
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


@dataclass(frozen=True, slots=True)
class TimingModel:
    """The middle estimate, and what it is when every uncertain figure is at its kind or at its unkind end."""

    mid: StepTimes
    fast: StepTimes
    slow: StepTimes

    def described(self) -> dict[str, Any]:
        """The assumptions as JSON; `read_timing` reads them back."""
        return {
            "load_seconds": self.mid.load_seconds,
            "tokens_per_second_single_stream": self.mid.decode,
            "prefill_tokens_per_second": self.mid.prefill,
            "expert_share": self.mid.expert_share,
            "kv_share_per_stream": self.mid.kv_share,
            "experts": EXPERTS,
            "experts_per_token": CHOSEN,
            "band": {
                end: {
                    "prefill_tokens_per_second": times.prefill,
                    "expert_share": times.expert_share,
                    "kv_share_per_stream": times.kv_share,
                }
                for end, times in (("fast", self.fast), ("slow", self.slow))
            },
        }

    def in_words(self) -> str:
        """The assumptions in one line, for readers of a figure that is based on them."""
        mid, fast, slow = self.mid, self.fast, self.slow
        return (
            f"{mid.decode:g} tok/s single stream, experts {mid.expert_share:.0%} of a step "
            f"({fast.expert_share:.0%}–{slow.expert_share:.0%}), prefill {mid.prefill:,.0f} tok/s "
            f"({slow.prefill:,.0f}–{fast.prefill:,.0f})"
        )


def read_timing(value: object) -> TimingModel | None:
    """The model that a server describes; None when the description is not one."""
    if not isinstance(value, Mapping):
        return None
    band = value.get("band")
    if not isinstance(band, Mapping):
        return None
    try:
        mid, fast, slow = (_times(value, end) for end in (value, band["fast"], band["slow"]))
    except (KeyError, TypeError, ValueError):
        return None
    return TimingModel(mid, fast, slow)


def _times(value: Mapping[str, Any], end: Mapping[str, Any]) -> StepTimes:
    times = StepTimes(
        load_seconds=float(value["load_seconds"]),
        decode=float(value["tokens_per_second_single_stream"]),
        prefill=float(end["prefill_tokens_per_second"]),
        expert_share=float(end["expert_share"]),
        kv_share=float(end["kv_share_per_stream"]),
    )
    if not (times.decode > 0 and times.prefill > 0 and times.load_seconds >= 0):
        raise ValueError("speeds have to be above zero")
    return times
