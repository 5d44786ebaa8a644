"""What cannot be true of a table of runs: one file for each sort of reason."""
