"""What happens to a task, from its prompt to its landing."""
