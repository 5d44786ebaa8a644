"""What the compose screen works on, as data: the task being written, templates, files, fuzzy search."""
