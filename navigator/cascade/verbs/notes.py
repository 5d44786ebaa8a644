"""What is kept without asking: which proposals were looked at, and texts that were typed and not sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.cascade.verbs.base import Told, Verb
from navigator.model.models import Model

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies


class SeenArgs(Model):
    """Proposals by id."""

    ids: tuple[str, ...]
    seen: bool = True


class MarkSeen(Verb[SeenArgs, SeenArgs]):
    """Mark proposals as looked at, or not."""

    name = "seen"
    args = SeenArgs
    result = SeenArgs
    small = True

    async def perform(self, deps: Dependencies, args: SeenArgs) -> SeenArgs:
        with deps.store.transaction() as tx:
            for identifier in args.ids:
                tx.set_proposal_seen(deps.reader.proposal(identifier).id, args.seen)
        return args

    def tell(self, result: SeenArgs) -> list[Told]:
        names = ", ".join(result.ids[:3]) + (" …" if len(result.ids) > 3 else "")
        return [Told(names, f"marked as {'seen' if result.seen else 'not seen'}")] if result.ids else []


class DraftArgs(Model):
    """A text under a key; an empty one is dropped."""

    key: str
    text: str


class DraftSaved(Model):
    """The key."""

    key: str


class SaveDraft(Verb[DraftArgs, DraftSaved]):
    """Keep a text that was typed and not sent."""

    name = "draft.save"
    args = DraftArgs
    result = DraftSaved
    small = True

    async def perform(self, deps: Dependencies, args: DraftArgs) -> DraftSaved:
        with deps.store.transaction() as tx:
            tx.save_draft(args.key, args.text)
        return DraftSaved(key=args.key)

    def tell(self, result: DraftSaved) -> list[Told]:
        return [Told(result.key, "saved as a draft")]
