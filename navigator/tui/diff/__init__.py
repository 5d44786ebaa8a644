"""The diff view: git's differences drawn line by line, with findings and comments beside the lines they are about.

Its input is `FileDiff`, `FindingNote` and `Comment`; it knows nothing of the rest of the application.
"""
