"""The values of the files that no model is shown, so that they can be redacted where tests or models repeat them."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path

from navigator.config.guarded import NotPlain, read_file
from navigator.git.private import PrivateRepo
from navigator.git.scope import is_secret
from navigator.model.models import Project
from navigator.model.secrets import MOST_VALUES, Redactor, values_in

log = logging.getLogger(__name__)

_LARGEST = 256 * 1024
"""Bytes of a file whose values are learnt; keys and settings are far smaller."""


def learn_withheld(redact: Redactor, project: Project, private: PrivateRepo, tree: str) -> None:
    """Have `redact` know the values of the withheld files of a tree, and of those at the top of the checkout.

    The latter need not be tracked: tests reach them through mounts, or without a sandbox. Blocks: call it in a thread.
    """
    before = redact.left_out
    for path, entry in private.tree_entries(tree).items():
        if is_secret(path) and entry.size <= _LARGEST and entry.mode.startswith("100"):
            redact.learn(values_in(private.read_blob(entry.sha)))
    try:
        for name in [item.name for item in os.scandir(project.path) if is_secret(item.name)]:
            with contextlib.suppress(NotPlain):
                redact.learn(values_in(read_file(Path(project.path), name, _LARGEST)))
    except OSError as error:
        log.warning(
            "%s: files with secrets cannot be read, so their values are not redacted: %s", project.name, error
        )
    if left := redact.left_out - before:
        log.warning(
            "%s: files with secrets hold too many values: %d are not redacted beyond the first %d in all",
            project.name,
            left,
            MOST_VALUES,
        )
