"""One module a screen, imported when it is first shown."""
