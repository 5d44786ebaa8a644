"""What the rehearsal assumes about time, in one place. All of it is simulated, and labelled so.

Published for the cascade of Qwen3.5-35B-A3B and Qwen3.5-122B-A10B on one RTX PRO 6000 (SGLang 0.5.9): 32.7 s until the
generator is back and 184 tokens/s in a single stream, 42.7 s until the reviewer is up and 48 tokens/s. What concurrency
and reading cost is not published: it follows the model of `navigator.model.timing`, with the figures below and a band.
"""

from __future__ import annotations

from dataclasses import dataclass

from navigator.model.states import Role
from navigator.model.timing import StepTimes, TimingModel

CHARACTERS_PER_TOKEN = 4
"""Estimate: one token for every four characters of text, rounded up. No tokenizer is loaded."""

MODEL_NAMES = {
    Role.GENERATOR: "rehearsal/Qwen3.5-35B-A3B",
    Role.REVIEWER: "rehearsal/Qwen3.5-122B-A10B",
}

PEAK_BANDWIDTH = 1792e9
"""Bytes a second of an RTX PRO 6000."""

SUSTAINED_FLOPS = 50e12
"""Assumed for prefill: floating-point operations a second that 4-bit experts reach on that GPU. Not measured."""

CONTEXT = 8_000
"""Assumed tokens in a stream's cache while it writes."""

KV_BYTES = 2 * 2 * 256 * 2
"""A token's keys and values in one full-attention layer: 2 heads of 256 numbers of 2 bytes."""

SPREAD = 2.0
"""The band: uncertain figures divided and multiplied by this. Half of the peak bandwidth reached, and expert
weights only half of the active ones, are both ordinary."""

NOTE = (
    "Simulated time, a model and no measurement. Load times and single-stream speeds are published figures; the share "
    "of the experts is what reading the active weights at peak bandwidth would take; prefill, the cache's share, the "
    "band and the token estimate are assumptions."
)


def estimate_tokens(text: str) -> int:
    """The stated estimate: characters divided by four, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Pace:
    """A timing model on a scaled clock. What waits, waits for the middle estimate.

    Attributes:
        model: the assumptions, in unscaled seconds.
        scale: factor on every duration; 0 means that nothing waits at all.
    """

    model: TimingModel
    scale: float = 1.0

    def wait(self, seconds: float) -> float:
        """Wall seconds for `seconds` of simulated time."""
        return seconds * self.scale

    def load_wait(self) -> float:
        """Wall seconds until loaded."""
        return self.wait(self.model.mid.load_seconds)

    def prefill_wait(self, tokens: int) -> float:
        """Wall seconds to read `tokens` that no cache holds."""
        return self.wait(self.model.mid.read_seconds(tokens))

    def stream_speed(self, streams: int) -> float:
        """Tokens a simulated second that each of `streams` concurrent streams writes."""
        return self.model.mid.stream_speed(streams)

    def decode_wait(self, tokens: int, streams: int) -> float:
        """Wall seconds for one of `streams` streams to write `tokens`."""
        return self.wait(tokens * self.model.mid.step_seconds(streams))

    def described(self) -> dict[str, object]:
        """The assumptions as `/server_info` states them."""
        return {
            "time_scale": self.scale,
            **self.model.described(),
            "tokens_per_second_of_eight_streams": [
                round(8 * times.stream_speed(8), 1)
                for times in (self.model.slow, self.model.mid, self.model.fast)
            ],
            "characters_per_token": CHARACTERS_PER_TOKEN,
            "note": NOTE,
        }


def pace_of(role: Role, scale: float) -> Pace:
    """The pace of a role's model, times `scale`.

    The experts' share is that of reading all active weights once a step at peak bandwidth: 1.5 GB at 184 steps a
    second, and 5 GB at the 38 a second published for the reviewer without its compressed cache.
    """
    if role is Role.GENERATOR:
        share = 1.5e9 * 184 / PEAK_BANDWIDTH
        return Pace(_model(load=32.7, decode=184.0, active=3e9, expert_share=share, layers=10), scale)
    share = 5e9 * 38 / PEAK_BANDWIDTH
    return Pace(_model(load=42.7, decode=48.0, active=10e9, expert_share=share, layers=12), scale)


def _model(*, load: float, decode: float, active: float, expert_share: float, layers: int) -> TimingModel:
    """The model and its band. `active`: parameters a token uses; `layers`: those with full attention."""
    prefill = SUSTAINED_FLOPS / (2 * active)
    kv_share = CONTEXT * KV_BYTES * layers * decode / PEAK_BANDWIDTH

    def estimate(factor: float) -> StepTimes:
        return StepTimes(
            load_seconds=load,
            decode=decode,
            prefill=round(prefill / factor, 1),
            expert_share=round(expert_share * factor, 6),
            kv_share=round(kv_share * factor, 6),
        )

    return TimingModel(mid=estimate(1.0), fast=estimate(1 / SPREAD), slow=estimate(SPREAD))
