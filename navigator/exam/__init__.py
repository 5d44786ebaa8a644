"""Known faults, to find out what a reviewer sees."""
