"""A map of a repository at one commit: what its files define, whom they speak of, and which matter for a task."""
