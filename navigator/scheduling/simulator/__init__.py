"""Sessions on a virtual clock: the conductor's own scheduling functions against other policies and bounds. Nothing runs."""
