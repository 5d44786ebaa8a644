"""The fleet: servers asked in a thread, the end of the log, and both as lines of text. No widget here."""
