"""What an agent writes, on its pipe and on the model's address, is read whatever it is and however it is cut."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from navigator.agents.acp import AgentConnection, grant
from navigator.agents.forwarder import BadRequest, digest_of, read_request
from tests.journey.answers import JSON_VALUES as JSON

UPDATES = st.fixed_dictionaries(
    {},
    optional={
        "sessionUpdate": st.sampled_from(["agent_message_chunk", "tool_call", "tool_call_update", "plan"])
        | JSON,
        "content": st.fixed_dictionaries({"type": st.just("text"), "text": JSON}) | JSON,
        "toolCallId": JSON,
        "kind": st.just("read") | JSON,
        "locations": st.lists(st.fixed_dictionaries({"path": JSON}) | JSON, max_size=2) | JSON,
    },
)


class Sink:
    """Takes what is written to the agent."""

    def write(self, data: bytes) -> None:
        """Nobody reads it."""

    async def drain(self) -> None:
        return


def fed(pieces: list[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=1 << 16)
    for piece in pieces:
        reader.feed_data(piece)
    reader.feed_eof()
    return reader


def cut(data: bytes, places: list[int]) -> list[bytes]:
    at = sorted({place % (len(data) + 1) for place in places})
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]


@given(st.binary(max_size=300), st.lists(st.integers(0, 10_000), max_size=4))
def test_a_request_is_read_however_it_is_cut(body: bytes, places: list[int]) -> None:
    sent = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)

    async def read() -> tuple[str, str, bytes]:
        return await read_request(fed(cut(sent, places)))

    assert asyncio.run(read()) == ("POST", "/v1/chat/completions", body)


@given(
    st.binary(max_size=200)
    | st.binary(max_size=80).map(lambda tail: b"POST / HTTP/1.1\r\n" + tail + b"\r\n\r\n")
)
def test_no_request_breaks_the_reader(data: bytes) -> None:
    async def read() -> object:
        try:
            return await read_request(fed([data]))
        except (BadRequest, asyncio.IncompleteReadError) as refused:
            return refused

    assert asyncio.run(read()) is not None


@given(
    st.lists(UPDATES | JSON, max_size=4), st.lists(st.integers(0, 10_000), max_size=4), st.binary(max_size=40)
)
def test_messages_are_read_however_they_are_cut(updates: list[Any], places: list[int], noise: bytes) -> None:
    messages: list[Any] = [
        {"jsonrpc": "2.0", "method": "session/update", "params": {"update": update}} for update in updates
    ]
    messages.append({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}})
    lines = [noise.replace(b"\n", b""), *(json.dumps(message).encode() for message in messages)]

    async def answered() -> Any:
        connection = AgentConnection(fed(cut(b"\n".join(lines) + b"\n", places)), Sink())  # type: ignore[arg-type]
        asking = asyncio.create_task(connection.ask("session/prompt", {}))
        await asyncio.sleep(0)
        await connection.listen()
        return await asking

    assert asyncio.run(answered()) == {"stopReason": "end_turn"}


@given(JSON)
def test_permission_is_granted_once_where_it_is_offered(other: Any) -> None:
    options = [other, {"kind": "allow_always", "optionId": "ever"}, {"kind": "allow_once", "optionId": "now"}]
    assert grant({"options": options})["outcome"]["optionId"] == "now"
    assert grant({"options": other})["outcome"]["outcome"] == "cancelled"


def test_what_differs_from_run_to_run_is_no_part_of_the_question() -> None:
    asked = {"messages": [{"role": "user", "content": "x"}], "temperature": 0.2}
    assert digest_of(asked | {"user": "a", "metadata": {"id": 1}}) == digest_of(asked | {"user": "b"})
    assert digest_of(asked) != digest_of(asked | {"temperature": 0.3})
