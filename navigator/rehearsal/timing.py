"""What the rehearsal assumes about time, in one place. All of it is simulated, and labelled so.

Load times and single-stream speeds are those published for the cascade of Qwen3.5-35B-A3B and Qwen3.5-122B-A10B on one
RTX PRO 6000 (SGLang 0.5.9): 32.7 s until the generator is back and 184 tokens/s, 42.7 s until the reviewer is up and
48 tokens/s. Prefill speed and the price of concurrency are not published there; the figures here are assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from navigator.domain.states import Role

CHARACTERS_PER_TOKEN = 4
"""Estimate: one token for every four characters of text, rounded up. No tokenizer is loaded."""

MODEL_NAMES = {
    Role.GENERATOR: "rehearsal/Qwen3.5-35B-A3B",
    Role.REVIEWER: "rehearsal/Qwen3.5-122B-A10B",
}


def estimate_tokens(text: str) -> int:
    """The stated estimate: characters divided by four, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long loading, reading and writing take in simulated time.

    The concurrency model is one number: with n streams running, each writes at
    `tokens_per_second / (1 + slowdown * (n - 1))`. At 0.12 eight streams write 4.3 times what one does.

    Attributes:
        load_seconds: from start until `/health` is 200.
        tokens_per_second: decode speed of a single stream.
        prefill_per_second: prompt tokens read a second; cached ones cost nothing.
        slowdown: what each further stream costs every stream, as a share of the single-stream time per token.
        scale: factor on every duration; 0 means that nothing waits at all.
    """

    load_seconds: float
    tokens_per_second: float
    prefill_per_second: float
    slowdown: float = 0.12
    scale: float = 1.0

    def load_wait(self) -> float:
        """Wall seconds until loaded."""
        return self.load_seconds * self.scale

    def prefill_wait(self, tokens: int) -> float:
        """Wall seconds to read `tokens` that no cache holds."""
        return tokens / self.prefill_per_second * self.scale

    def stream_speed(self, streams: int) -> float:
        """Tokens a simulated second that each of `streams` concurrent streams writes."""
        return self.tokens_per_second / (1.0 + self.slowdown * max(0, streams - 1))

    def decode_wait(self, tokens: int, streams: int) -> float:
        """Wall seconds for one of `streams` streams to write `tokens`."""
        return tokens / self.stream_speed(streams) * self.scale

    def described(self) -> dict[str, object]:
        """The assumptions as `/server_info` states them."""
        return {
            "time_scale": self.scale,
            "load_seconds": self.load_seconds,
            "tokens_per_second_single_stream": self.tokens_per_second,
            "prefill_tokens_per_second": self.prefill_per_second,
            "slowdown_per_further_stream": self.slowdown,
            "characters_per_token": CHARACTERS_PER_TOKEN,
            "note": "Simulated time. Load times and single-stream speeds are published figures; "
            "prefill speed, the slowdown and the token estimate are assumptions.",
        }


def pace_of(role: Role, scale: float) -> Pace:
    """The published pace of a role's model, times `scale`."""
    if role is Role.GENERATOR:
        return Pace(load_seconds=32.7, tokens_per_second=184.0, prefill_per_second=9000.0, scale=scale)
    return Pace(load_seconds=42.7, tokens_per_second=48.0, prefill_per_second=3000.0, scale=scale)
