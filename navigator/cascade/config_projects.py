"""`[[project]]` entries of the settings file, brought into the store so that everything sees one list of projects."""

from __future__ import annotations

import logging
from typing import Any

from navigator.cascade.dependencies import Dependencies
from navigator.config.settings import ProjectEntry
from navigator.domain.errors import NavigatorError
from navigator.domain.models import Project

log = logging.getLogger(__name__)

FROM_CONFIG = "config"
FROM_STORE = "store"


def sync_projects(deps: Dependencies) -> list[str]:
    """Add what the settings name and the store lacks; let the settings override what both have, by path.

    A project whose entry was removed from the settings keeps its last values, as one added by command.

    Returns:
        Words about each entry that could not be taken: its repository is gone, or has no commit. The others are taken.
    """
    held = {project.path: project for project in deps.reader.projects()}
    named = {str(entry.location): entry for entry in deps.settings.project}
    problems: list[str] = []
    for path, entry in named.items():
        try:
            _take(deps, entry, held.get(path))
        except NavigatorError as error:
            log.warning("[[project]] %s: %s", entry.path, error)
            problems.append(f"{entry.path}: {error}")
    for path, project in held.items():
        if project.source == FROM_CONFIG and path not in named:
            with deps.store.transaction() as tx:
                tx.update_project(project.id, source=FROM_STORE)
    return problems


def _take(deps: Dependencies, entry: ProjectEntry, project: Project | None) -> None:
    wanted: dict[str, Any] = {
        name: getattr(entry, name) for name in entry.model_fields_set if name != "path"
    } | {"source": FROM_CONFIG}
    if project is None:
        from navigator.workspace.git.facts import read_facts

        facts = read_facts(entry.location)
        with deps.store.transaction() as tx:
            tx.add_project(
                **{"name": entry.display_name, "path": str(entry.location)} | wanted,
                root_commit=facts.root_commit,
            )
        return
    changes = {name: value for name, value in wanted.items() if getattr(project, name) != value}
    if changes:
        with deps.store.transaction() as tx:
            tx.update_project(project.id, **changes)
