"""The agent and the model write the same task, and are compared."""

from __future__ import annotations

from navigator.sheet.variants import standings
from tests.journey.room import Room


def test_the_agent_and_the_model_each_write_one_variant(room: Room) -> None:
    usual = room.models.write

    def write(messages: object) -> object:
        asked = "\n".join(str(message["content"]) for message in messages)  # type: ignore[attr-defined]
        if "SEARCH/REPLACE" in asked or "<<<<<<< SEARCH" in asked:
            return "app.py\n<<<<<<< SEARCH\n    return x + x\n=======\n    return 2 * x\n>>>>>>> REPLACE\n"
        return usual(messages)  # type: ignore[arg-type]

    room.models.write = write  # type: ignore[assignment]
    added = room.act(
        "task.add",
        tasks=[
            {
                "project": "code",
                "text": "Make double() multiply ASK=1",
                "files": ["app.py"],
                "variants": 2,
                "vary": "writer",
            }
        ],
    )["tasks"]
    room.work()
    found = standings(room.read(), added[0]["id"])
    ways = {one.task.variation.words: one.proposal.way if one.proposal else one.task.reason for one in found}
    assert ways["as the settings say"].startswith("agent scripted")
    assert ways["written by the model"] in ("blocks", "looking")
