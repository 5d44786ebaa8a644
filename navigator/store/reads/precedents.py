"""Reading precedents: findings that the developer judged wrong, with the reason."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from navigator.model.ids import number_of
from navigator.model.models import Model
from navigator.model.states import Criterion
from navigator.store.reads.queries import Queries
from navigator.store.rows import from_rows

MOST_TEXT = 500
"""Characters of each text of a precedent."""

_Text = Annotated[str, StringConstraints(max_length=MOST_TEXT)]


class Precedent(Model):
    """A finding that was judged wrong in a project, and why; the texts are a model's and a person's, in 500 characters each.

    `review_id` and `finding` say where it was made; None for one that was read from a file. `ended` is when it was dropped or
    changed, "" while it is shown to the reviewer.
    """

    id: int = 0
    project_id: int = 0
    review_id: int | None = None
    finding: int = 0
    criterion: Criterion
    path: _Text = ""
    quote: _Text = ""
    message: Annotated[_Text, Field(min_length=1)]
    note: Annotated[_Text, Field(min_length=1)]
    ended: str = ""


class PrecedentReads(Queries):
    """Precedents, oldest first."""

    def precedents(self, project_id: int) -> list[Precedent]:
        """Those of a project that hold."""
        where = "project_id = ? AND ended = ''"
        return from_rows(
            Precedent, self._all(f"SELECT * FROM precedents WHERE {where} ORDER BY id", project_id)
        )

    def precedents_of(self, proposal: str) -> list[Precedent] | None:
        """Those that a proposal's review is shown, whatever became of them since; None where it was not asked for yet."""
        held = self._one("SELECT precedents FROM proposals WHERE id = ?", number_of(proposal, "P"))
        if held is None:
            return None
        rows = "SELECT * FROM precedents WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
        return from_rows(Precedent, self._all(rows, held))
