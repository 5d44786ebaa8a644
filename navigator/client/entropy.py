"""How unsure a model was, from the probabilities that a server tells beside its tokens (`top_logprobs` of the OpenAI format)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from navigator.model.models import Uncertainty

_MOST = 64
"""Alternatives of one token that are looked at; servers tell 20 at most."""


@dataclass(slots=True)
class EntropySum:
    """Entropies of tokens, added up as they come. Nothing that a server sends here can fail an answer."""

    tokens: int = 0
    total: float = 0.0
    peak: float = 0.0

    def add(self, logprobs: Any) -> None:
        """Take the `logprobs` of one chunk."""
        entries = logprobs.get("content") if isinstance(logprobs, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            told = entry.get("top_logprobs") if isinstance(entry, dict) else None
            if isinstance(told, list) and (bits := entropy(told[:_MOST])) is not None:
                self.tokens += 1
                self.total += bits
                self.peak = max(self.peak, bits)

    def result(self) -> Uncertainty:
        """Mean and peak in bits; empty where no token came with probabilities."""
        if not self.tokens:
            return Uncertainty()
        return Uncertainty(entropy_mean=self.total / self.tokens, entropy_peak=self.peak)


def entropy(told: list[Any]) -> float | None:
    """The entropy of one token in bits, from its most likely alternatives; None where they are no probabilities.

    What is left of the probability counts as one more alternative, so this is the least that it can be.
    """
    shares = []
    for one in told:
        log = one.get("logprob") if isinstance(one, dict) else None
        if isinstance(log, bool) or not isinstance(log, int | float) or math.isnan(log):
            return None
        shares.append(math.exp(min(0.0, max(-700.0, log))))
    known = sum(shares)
    if not shares or known > 1.05:
        return None
    shares.append(max(0.0, 1.0 - known))
    return max(0.0, -sum(share * math.log2(share) for share in shares if share > 0))
