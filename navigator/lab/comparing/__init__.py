"""Compares ways of working on the same tasks: executed, paired, and in as few swaps as possible."""
