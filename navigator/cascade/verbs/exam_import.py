"""Import exam items from a file: review tasks with known answers that others have published, or the user's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from navigator.cascade.verbs.base import Told, Verb, plural
from navigator.domain.models import Model

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies


class ImportExamArgs(Model):
    """An absolute path."""

    path: str


class RefusedRow(Model):
    """A row that is no item: its line (or its place in an array, from 1) and the reason."""

    line: int
    reason: str


class ExamImported(Model):
    """What became of the rows. `known` are items already."""

    path: str
    faulty: int = 0
    clean: int = 0
    known: int = 0
    refused: tuple[RefusedRow, ...] = ()


class ImportExam(Verb[ImportExamArgs, ExamImported]):
    """Rows that can be read become items; the others are named."""

    name = "exam.import"
    args = ImportExamArgs
    result = ExamImported

    async def perform(self, deps: Dependencies, args: ImportExamArgs) -> ExamImported:
        from navigator.cascade.exam.importing import import_row, read_file
        from navigator.cascade.exam.rows import RowRefused

        counts = {True: 0, False: 0}
        known = 0
        refused: list[RefusedRow] = []
        for found in await asyncio.to_thread(read_file, args.path):
            try:
                new = await asyncio.to_thread(import_row, deps, found)
            except RowRefused as error:
                refused.append(RefusedRow(line=found.number, reason=str(error)))
                continue
            if new and found.row is not None:
                counts[found.row.faulty] += 1
            else:
                known += 1
        return ExamImported(
            path=args.path, faulty=counts[True], clean=counts[False], known=known, refused=tuple(refused)
        )

    def tell(self, result: ExamImported) -> list[Told]:
        made = result.faulty + result.clean
        known = f", {result.known} known already" if result.known else ""
        told = [
            Told(
                result.path,
                f"{plural(made, 'item')} imported: {result.faulty} faulty, {result.clean} clean{known}",
                "information" if made or result.known else "error",
            )
        ]
        return [
            *told,
            *(Told(result.path, f"line {one.line}: {one.reason}", "warning") for one in result.refused),
        ]
