"""How unsure a model was of a change, in words."""

from __future__ import annotations

from navigator.model.models import Proposal


def uncertainty_words(proposal: Proposal) -> str:
    """`entropy 0.42 bits a token, at most 3.1`; "" where the server told none."""
    if proposal.entropy_mean is None or proposal.entropy_peak is None:
        return ""
    return f"entropy {proposal.entropy_mean:.2f} bits a token, at most {proposal.entropy_peak:.1f}"
