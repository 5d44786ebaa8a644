"""Twenty small tasks: structural checks beside execution."""
