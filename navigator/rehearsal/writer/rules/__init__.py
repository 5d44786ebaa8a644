"""The rules by which the rehearsal's generator does real work on real files."""

from __future__ import annotations

from navigator.rehearsal.writer.rules.base import MAX_PLACES, Outcome, Rule
from navigator.rehearsal.writer.rules.catalogue import RULES, choose_rules

__all__ = ["MAX_PLACES", "RULES", "Outcome", "Rule", "choose_rules"]
