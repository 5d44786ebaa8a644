"""Blind pairwise judging: what the judges say, and whether it is worth anything."""
