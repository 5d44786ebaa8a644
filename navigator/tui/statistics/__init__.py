"""The pages of statistics drawn in a terminal."""
