"""The client against a real HTTP server that behaves in every good and bad way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from navigator.client.assemble import RetryPolicy
from navigator.client.body import Timeouts
from navigator.client.errors import (
    Aborted,
    BadAnswer,
    CutByLength,
    FirstTokenTimeout,
    NoAnswer,
    Overloaded,
    Refused,
    ServerFault,
    ServingError,
    Stalled,
    StreamCut,
    TotalTimeout,
    Unreachable,
    WrongModel,
)
from navigator.model.errors import ConfigError, MissingPart
from tests.client.conftest import question
from tests.client.scripted import (
    DONE,
    Request,
    Script,
    Wire,
    answer,
    data,
    delta,
    models,
    refuse,
    routes,
    serving,
)

KEY = "sk-secret-0123456789"


async def hang(request: Request, wire: Wire) -> None:
    await wire.gone()


async def test_requests_cancelled_at_any_moment_leave_room_for_the_next(connect) -> None:
    async def listed(request: Request, wire: Wire) -> None:
        await wire.json(models("org/model"))

    async with serving(listed) as server, connect(server.url, max_inflight=1) as client:
        for steps in [*range(20)] * 10:  # of the event loop; a connection is opened within them
            asking = asyncio.create_task(client.model_info())
            for _ in range(steps):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        assert (await client.model_info()).names == ("org/model",)


async def test_a_whole_answer_with_usage_and_progress(ask) -> None:
    seen: list[int] = []
    got = await ask(answer("Hel", "lo"), progress=seen.append)
    assert (got.text, got.model, got.retries) == ("Hello", "org/model", 0)
    assert (got.usage.prompt_tokens, got.usage.completion_tokens, got.usage.cached_tokens) == (7, 3, 5)
    assert seen[-1] == 5


async def test_what_is_sent(ask) -> None:
    asked = question(schema={"type": "object"}, extra={"top_p": 0.5})
    own = {"min_p": 0.1, "chat_template_kwargs": {"a": 1}}
    await ask(answer("x"), asked, path="/v1", extra_body=own)
    (chat,) = ask.server.chats
    assert chat.path == "/v1/chat/completions"
    assert not {"authorization", "rid"} & {*chat.headers, *chat.json}
    assert chat.json.items() >= {"stream": True, "min_p": 0.1, "top_p": 0.5}.items()
    assert chat.json["stream_options"] == {"include_usage": True}
    assert chat.json["chat_template_kwargs"] == {"enable_thinking": False, "a": 1}
    named = {"name": "answer", "schema": {"type": "object"}, "strict": True}
    assert chat.json["response_format"] == {"type": "json_schema", "json_schema": named}


def streams(*pieces: str | bytes, status: int = 200, kind: str = "text/event-stream") -> Script:
    """A stream of these pieces, whatever becomes of it."""

    async def behave(request: Request, wire: Wire) -> None:
        await wire.head(status, kind)
        await wire.send(*pieces)

    return behave


def repeats(first: str, *pieces: str | bytes) -> Script:
    """A stream that begins, and goes on with these pieces for ever."""

    async def behave(request: Request, wire: Wire) -> None:
        await wire.head()
        await wire.send(first)
        while True:
            await wire.send(*pieces)
            await asyncio.sleep(0.01)

    return behave


async def breaks_off(request: Request, wire: Wire) -> None:
    await wire.head(Transfer_Encoding="chunked")
    event = delta("abc")
    await wire.send(f"{len(event):x}\r\n{event}\r\n")
    await asyncio.sleep(0.05)
    wire.reset()


@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        (streams(delta("abc")), StreamCut, "finish_reason"),
        (streams(delta("abc"), delta(finish="stop")), StreamCut, "[DONE]"),
        (streams(delta("abc"), DONE), StreamCut, "finish_reason"),
        (streams(delta("abc"), delta(finish="stop"), "data: [DON"), StreamCut, "[DONE]"),
        (breaks_off, StreamCut, "broke"),
        (answer("abc", finish="length"), CutByLength, "max_tokens"),
        (answer("abc", finish="abort"), Aborted, "aborted"),
        (answer("abc", finish="tool_calls"), BadAnswer, "tool_calls"),
        (streams(delta("abc"), "data: {\n\n"), BadAnswer, "not JSON"),
        (streams(delta("abc"), "data: [1]\n\n"), BadAnswer, "not a JSON object"),
        (streams(delta("abc"), 'data: {"choices":[3]}\n\n'), BadAnswer, "not a JSON object"),
        (streams(delta("abc"), "data: " + "[" * 9999 + "\n\n"), BadAnswer, "not JSON"),
        (repeats(delta("abc"), b"x" * 65536), BadAnswer, "line"),
        (
            streams(delta("abc"), data({"error": {"message": "no memory", "code": 500}})),
            ServerFault,
            "no mem",
        ),
        (streams(delta("abc"), data({"error": {"message": "queue full", "code": 503}})), Overloaded, "queue"),
        (streams(delta("abc"), data({"error": {"message": "grammar", "code": 400}})), Refused, "grammar"),
        (streams(delta("abc"), data({"error": "just words"})), ServerFault, "just words"),
        (streams(delta("abc"), delta("d", model="org/other")), WrongModel, "org/other, not org/model"),
    ],
)
async def test_an_answer_that_began_and_does_not_count(
    ask, script: Script, kind: type[ServingError], words: str
) -> None:
    with pytest.raises(kind) as caught:
        await ask(script)
    assert words in str(caught.value)
    assert caught.value.partial.startswith("abc")
    assert len(ask.server.chats) == 1, "an answer that has begun is not asked for again"


@pytest.mark.parametrize(
    ("script", "timeouts", "kind", "partial"),
    [
        (hang, Timeouts(first_token=0.1), FirstTokenTimeout, ""),
        (
            repeats("", ": ping\n\n", delta(role="assistant")),
            Timeouts(first_token=0.2),
            FirstTokenTimeout,
            "",
        ),
        (repeats(delta("begun"), ": keep-alive\n\n"), Timeouts(between_tokens=0.15), Stalled, "begun"),
        (repeats(delta("la "), delta("la ")), Timeouts(total=0.3), TotalTimeout, "la la "),
    ],
)
async def test_time_that_is_up(
    ask, script: Script, timeouts: Timeouts, kind: type[ServingError], partial: str
) -> None:
    with pytest.raises(kind) as caught:
        await ask(script, timeouts=timeouts)
    assert caught.value.partial.startswith(partial)
    assert len(ask.server.chats) == 1


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((delta("abc", finish="stop"), "data: [DONE]\n"), "abc"),  # without a last blank line
        (
            (  # a surrogate pair is cut between two chunks, and one has no other half
                'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n',
                'data: {"choices":[{"delta":{"content":"\\ude80b \\ud800"},"finish_reason":"stop"}]}\n\n',
                DONE,
            ),
            "a🚀b \ufffd",
        ),
    ],
)
async def test_an_oddly_cut_answer_counts(ask, pieces: tuple[str, ...], text: str) -> None:
    assert (await ask(streams(*pieces))).text == text


async def test_an_answer_that_grows_too_long_is_dropped(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navigator.client.client._MAX_ANSWER_CHARS", 500)
    with pytest.raises(BadAnswer, match="500 characters"):
        await ask(answer(*["x" * 100] * 20))


BUSY = {"error": {"message": "busy"}}


@pytest.mark.parametrize(
    "first",
    [
        *(refuse(status, BUSY) for status in (408, 429, 502, 503, 504)),
        streams(": ping\n\n", delta(role="assistant")),  # cut before the first character
    ],
)
async def test_what_may_go_well_the_next_time_is_tried_again(ask, first: Script) -> None:
    got = await ask([first, answer("ok")], max_inflight=8)
    assert (got.text, got.retries) == ("ok", 1)


async def test_no_more_requests_run_at_once_than_the_settings_allow(connect) -> None:
    running, most, pair = 0, 0, asyncio.Event()

    async def slow(request: Request, wire: Wire) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        pair.set() if running == 2 else None
        await pair.wait()
        await asyncio.sleep(0.01)
        running -= 1
        await answer("ok")(request, wire)

    async with serving(routes(slow)) as server, connect(server.url, max_inflight=2) as client:
        await asyncio.gather(*(client.chat(question()) for _ in range(6)))
    assert most == 2


def saying(message: str) -> dict[str, Any]:
    return {"error": {"message": message}}


WEB_PAGE = streams("<html><script>x</script></html>", status=404, kind="text/html")
LONG = "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."
NOT_PARSED = "The model produced output that does not match the expected peg-native format"


@pytest.mark.parametrize(
    ("script", "kind", "words", "asked"),
    [
        (refuse(429, BUSY, Retry_After="0"), Overloaded, "busy", 3),
        (refuse(429, saying("quota"), Retry_After="7200"), Overloaded, "quota", 1),
        (refuse(500, {"error": "boom"}), ServerFault, "boom", 2),
        # It cannot take apart what its model wrote: the answer's fault.
        (refuse(500, {"error": {"code": 500, "message": NOT_PARSED}}), BadAnswer, "peg-native", 1),
        (refuse(400, {"message": "bad \x1b]52;\x07 thing\nnext"}), Refused, "\u241b]52;\u2407 thing next", 1),
        (refuse(400, saying(LONG)), Refused, "max_tokens or context_tokens", 1),
        # llama.cpp, whose requests share one context.
        (refuse(500, saying("Context size has been exceeded.")), ServerFault, "Lower max_inflight", 2),
        (WEB_PAGE, Refused, "base_url", 1),
    ],
)
async def test_a_refusal_shows_the_servers_words_made_safe(
    ask, script: Script, kind: type[ServingError], words: str, asked: int
) -> None:
    with pytest.raises(kind) as caught:
        await ask(script)
    assert words in str(caught.value)
    assert "\x1b" not in str(caught.value) and "script" not in str(caught.value)
    assert (len(ask.server.chats), caught.value.retries) == (asked, asked - 1)


FORBIDDEN = {
    "type": "extra_forbidden",
    "loc": ["body", "stream_options"],
    "msg": "Extra inputs are forbidden",
}


@pytest.mark.parametrize(
    ("status", "payload", "key"),
    [
        (400, saying("Unrecognized request argument supplied: chat_template_kwargs"), "chat_template_kwargs"),
        (422, {"detail": [FORBIDDEN]}, "stream_options"),
        (400, saying("Unsupported value: 'temperature' does not support 0.2 here."), "temperature"),
    ],
)
async def test_a_key_that_is_refused_by_name_is_left_out_from_then_on(
    connect, status: int, payload: Any, key: str
) -> None:
    async def picky(request: Request, wire: Wire) -> None:
        await (refuse(status, payload) if key in request.json else answer("ok"))(request, wire)

    async with serving(routes(picky)) as server, connect(server.url) as client:
        assert (await client.chat(question())).text == "ok"
        assert (await client.chat(question())).retries == 0
    assert [key in chat.json for chat in server.chats] == [True, False, False]


async def test_max_tokens_is_renamed_where_asked_for(ask) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."

    async def picky(request: Request, wire: Wire) -> None:
        old = "max_tokens" in request.json
        await (refuse(400, saying(words)) if old else answer("ok"))(request, wire)

    assert (await ask(picky, question(max_tokens=77))).text == "ok"
    assert ask.server.chats[1].json["max_completion_tokens"] == 77


async def test_a_refusal_that_persists_is_not_asked_for_ever(ask) -> None:
    keys = "chat_template_kwargs stream_options rid top_p temperature"
    with pytest.raises(Refused):
        await ask(refuse(400, saying(f"unsupported: {keys}")))
    assert len(ask.server.chats) == 5


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=utf-8", "<html>Welcome</html>"),
        ("application/json", '{"choices": [{"message": {"content": "plain"}, "finish_reason": "stop"}]}'),
        ("text/plain", "hello there\n\n"),
    ],
)
async def test_what_is_no_event_stream_is_no_answer(ask, kind: str, body: str) -> None:
    with pytest.raises(BadAnswer, match=f"answered with {kind}, not with an event stream"):
        await ask(streams(body, kind=kind))


@pytest.mark.parametrize(
    ("head", "piece", "tail", "error"),
    [
        ('{"data":[', '{"id":"a"},' * 10_000, None, BadAnswer),
        ('{"data":' + "[" * 500_000, "", "]" * 500_000 + "}", BadAnswer),
        ("", " ", None, NoAnswer),
    ],
    ids=["endless", "deep", "dripping"],
)
async def test_a_list_of_models_without_end_is_no_list(
    connect, head: str, piece: str, tail: str | None, error: type[ServingError]
) -> None:
    async def listing(request: Request, wire: Wire) -> None:
        await wire.head()
        await wire.send(head)
        while tail is None:
            await wire.send(piece)
            await asyncio.sleep(0.02 if piece == " " else 0)
        await wire.send(tail)

    quick = Timeouts(probe=0.5 if piece == " " else 5.0)
    async with serving(listing) as server, connect(server.url, timeouts=quick) as client:
        with pytest.raises(error):
            await client.require_model()


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_apart(ask, field: str) -> None:
    thinks = streams(delta(**{field: "hm"}), delta("yes"), delta(finish="stop"), DONE)
    got = await ask(thinks, question(thinking=True))
    assert (got.text, got.reasoning) == ("yes", "hm")
    trap = streams(delta(**{field: '{"a":'}), delta(**{field: "1}"}), delta(finish="stop"), DONE)
    got = await ask(trap, question(schema={"type": "object"}))
    assert (got.text, got.reasoning) == ("", '{"a":1}')


async def test_the_key_goes_only_where_it_belongs_and_into_no_error_or_log(ask, monkeypatch, caplog) -> None:
    monkeypatch.setenv("SERVING_TEST_KEY", KEY)
    caplog.set_level("INFO")
    private = question(messages=[{"role": "user", "content": "private words"}])
    with pytest.raises(Refused) as caught:
        await ask(refuse(401, saying(f"Wrong API key: {KEY}.")), private, api_key_env="SERVING_TEST_KEY")
    assert ask.server.chats[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(caught.value)
    assert "api_key_env" in caught.value.hint
    await ask(answer("abc"), private, api_key_env="SERVING_TEST_KEY")
    assert KEY not in caplog.text
    assert "private words" not in caplog.text


async def test_redirects_and_proxies_are_not_followed(ask, monkeypatch) -> None:
    monkeypatch.setenv("SERVING_TEST_KEY", KEY)
    async with serving(routes(answer("stolen"))) as elsewhere:
        monkeypatch.setenv("HTTP_PROXY", elsewhere.url)
        monkeypatch.setenv("ALL_PROXY", elsewhere.url)
        away = refuse(307, {}, Location=f"{elsewhere.url}/v1/chat/completions")
        with pytest.raises(Refused, match="redirects"):
            await ask(away, api_key_env="SERVING_TEST_KEY")
    assert elsewhere.requests == []


async def test_a_key_that_is_not_set_or_not_fit(ask, monkeypatch) -> None:
    monkeypatch.delenv("SERVING_TEST_KEY", raising=False)
    with pytest.raises(MissingPart, match="SERVING_TEST_KEY"):
        await ask(answer("x"), api_key_env="SERVING_TEST_KEY")
    assert ask.server.requests == []
    monkeypatch.setenv("SERVING_TEST_KEY", f"{KEY}\nx")
    with pytest.raises(ConfigError) as caught:
        await ask(answer("x"), api_key_env="SERVING_TEST_KEY")
    assert KEY not in str(caught.value)
    assert ask.server.requests == []


async def test_no_connection(connect) -> None:
    async with serving(routes(answer("x"))) as server:
        url = server.url
    async with connect(url) as client:
        with pytest.raises(Unreachable) as caught:
            await client.chat(question())
        assert not await client.health()
        assert await client.load() is None
    assert caught.value.retries == 2
    assert "doctor" in caught.value.hint


async def test_extra_body_may_not_take_the_stream_away(connect) -> None:
    with pytest.raises(ConfigError, match="stream"):
        connect("http://127.0.0.1:1", extra_body={"stream": False})


@pytest.mark.parametrize("keys", ["none", "one", "two"])
async def test_cancelling_closes_the_stream_and_aborts_on_sglang(connect, monkeypatch, keys) -> None:
    """With two keys SGLang answers 401 to the ordinary one there: only its administrator may abort."""
    monkeypatch.setenv("SERVING_TEST_KEY", "ordinary")
    monkeypatch.setenv("SERVING_TEST_KEY_ADMIN", "administrator" if keys == "two" else "")
    named = {} if keys == "none" else {"api_key_env": "SERVING_TEST_KEY"}
    bearers: list[str | None] = []
    aborted: list[Any] = []
    begun = asyncio.Event()
    closed = asyncio.Event()

    async def slow(request: Request, wire: Wire) -> None:
        await wire.head()
        await wire.send(delta("abc"))
        begun.set()
        await wire.gone()
        closed.set()

    async def abort(request: Request, wire: Wire) -> None:
        bearers.append(request.headers.get("authorization"))
        aborted.append(request.json)
        await wire.json({})

    async def listed(request: Request, wire: Wire) -> None:
        await wire.json(models("org/model", owned_by="sglang"))

    async with (
        serving(routes(slow, models=listed, abort_request=abort)) as server,
        connect(server.url, **named) as client,
    ):
        # Asked before: a call goes on with a guess where the server is slow to say what it is.
        assert await client.kind() == "sglang"
        task = asyncio.create_task(client.chat(question()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), 10)
        # The server is told by a task of its own.
        while not aborted:
            await asyncio.sleep(0.01)
    assert bearers == [{"none": None, "one": "Bearer ordinary", "two": "Bearer administrator"}[keys]]
    assert aborted == [{"rid": server.chats[0].json["rid"]}]


async def test_closing_ends_every_call_with_a_typed_error_and_none_is_repeated(connect) -> None:
    """One answer under way, one not begun, one refused and in its pause, one still at the gate."""
    under_way = asyncio.Event()
    refused = asyncio.Event()

    async def begins(request: Request, wire: Wire) -> None:
        await wire.head()
        await wire.send(delta("abc"))
        await wire.gone()

    async def waits(request: Request, wire: Wire) -> None:
        await wire.gone()

    async def refuses(request: Request, wire: Wire) -> None:
        await wire.json({}, 503)
        refused.set()

    patient = RetryPolicy(retries=5, base=0.2, cap=0.2)
    script = routes([begins, waits, refuses])
    async with serving(script) as server, connect(server.url, max_inflight=3, retry=patient) as client:
        calls = [asyncio.create_task(client.chat(question(), lambda *_: under_way.set()))]
        await under_way.wait()
        calls.append(asyncio.create_task(client.chat(question())))
        while len(server.chats) < 2:
            await asyncio.sleep(0)
        calls += [asyncio.create_task(client.chat(question())) for _ in range(2)]
        await refused.wait()
        await client.aclose()
        async with asyncio.timeout(10):
            errors = await asyncio.gather(*calls, return_exceptions=True)
        asked = len(server.chats)
        with pytest.raises(Unreachable):
            await client.chat(question())
        assert not await client.health()
        assert await client.load() is None
        assert len(server.chats) == asked
    assert [type(error) for error in errors[:1]] == [StreamCut]
    assert all(isinstance(error, ServingError) for error in errors)


async def test_broken_calls_leave_no_connection_behind(connect) -> None:
    """More stalls and cancellations than the pool has connections, then a good answer."""

    async def stall(request: Request, wire: Wire) -> None:
        await wire.head()
        await wire.send(delta("abc"))
        await wire.gone()

    script = routes([*[stall] * 24, answer("ok")])
    quick = Timeouts(first_token=5, between_tokens=0.03)
    async with serving(script) as server, connect(server.url, max_inflight=2, timeouts=quick) as client:
        for _ in range(12):
            with pytest.raises(Stalled):
                await client.chat(question())
        for _ in range(12):
            begun = asyncio.Event()
            task = asyncio.create_task(client.chat(question(), lambda *_, begun=begun: begun.set()))
            await begun.wait()
            task.cancel()
            with pytest.raises((asyncio.CancelledError, Stalled)):
                await task
        assert (await client.chat(question())).text == "ok"


async def test_a_callback_that_fails_ends_the_call(connect) -> None:
    def fail(chars: int) -> None:
        raise KeyError(chars)

    async with serving(routes(answer("abc"))) as server, connect(server.url) as client:
        with pytest.raises(KeyError, match="3"):
            await client.chat(question(), fail)
        assert (await client.chat(question())).text == "abc"
