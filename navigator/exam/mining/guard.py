"""What may never be an exam item: a change of files that no model is shown, or one that holds a secret."""

from __future__ import annotations

from navigator.git.private import PrivateRepo
from navigator.git.source import TreeSource
from navigator.model.models import Project
from navigator.model.secrets import find_secret

_LARGEST = 2 * 1024 * 1024


def why_withheld(private: PrivateRepo, project: Project, base: str, tree: str, words: str) -> str:
    """Why the change from `base` to `tree` is shown to no model; "" where it may be.

    Args:
        words: the texts that go with the change, such as a commit's message.
    """
    if find_secret(words.encode("utf-8", "surrogateescape")) is not None:
        return "its message holds a secret"
    before, after = TreeSource(private, base, project), TreeSource(private, tree, project)
    for change in private.raw_diff(base, tree):
        if before.why_hidden(change.path) or after.why_hidden(change.path):
            return "it changes a file that no model is shown"
        for source in (before, after):
            if source.size(change.path) > _LARGEST:
                return "it changes a very large file"
            content = source.read(change.path)
            if content is not None and find_secret(content) is not None:
                return "it changes a file that holds a secret"
    return ""
