"""Measurements a developer can make on their own card: does speculation pay, does a second model pay."""
