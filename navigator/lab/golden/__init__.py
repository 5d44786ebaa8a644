"""Published figures, recomputed from their inputs by the functions that the commands use."""
