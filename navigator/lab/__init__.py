"""Experiments a developer can run on their own card: does speculation pay, does a second model pay."""
