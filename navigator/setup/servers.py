"""Model servers at their usual addresses: what answers, which models it lists, how it loads them; the settings that follow.

Only the loopback and addresses that the user names are asked. Only `try_models` has a model loaded and asked.

Sources: Ollama (`/api/ps`: context_length), llama.cpp (`/props`: n_ctx; a router's `status`), LM Studio (`/api/v0/models`: state,
loaded_context_length), llama-swap (`/running`), SGLang and vLLM (`max_model_len`).
"""

from __future__ import annotations

import asyncio
import shlex
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from navigator.client.body import ChatRequest, Timeouts, kind_by_owner, listed_models, same_model
from navigator.client.client import ModelClient
from navigator.client.errors import CutByLength
from navigator.client.transport import Transport
from navigator.config.paths import resource_dir
from navigator.config.reference import toml
from navigator.config.settings import ServerSettings, load_settings
from navigator.model import patterns
from navigator.model.errors import ConfigError, NavigatorError, UsageError
from navigator.model.text import safe_line
from navigator.setup.profiles import fitting, load_presets
from navigator.swap import strategy_class
from navigator.swap.machine import cards

USUAL: tuple[tuple[int, str], ...] = (
    (11434, "Ollama"),
    (8080, "llama.cpp"),
    (1234, "LM Studio"),
    (30000, "SGLang"),
    (8000, "vLLM"),
    (5800, "llama-swap"),
)
"""Usual ports and whose they are; what answers there is asked for itself."""

NOBODY = "–"
"""Stands for the software where no model server answers."""

_NAMES = {"sglang": "SGLang", "vllm": "vLLM", "llamacpp": "llama.cpp", "ollama": "Ollama"}
_KNOCK = 1.0
_ASK = 3.0
_NO_CHAT = patterns.compile(r"embed|rerank|whisper|(?:^|[-/])(?:bge|clip|tts)(?:-|$)", patterns.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered.

    Attributes:
        name: its software.
        models: what it lists, without models that cannot write text.
        loaded: those that are loaded now, where it says so.
        loads: it loads the model that it is asked for.
        context: tokens that the model of `look` was loaded with; None where it does not say.
        problem: why it cannot be used; "" where it can.
    """

    name: str
    url: str
    models: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    loads: bool = False
    context: int | None = None
    problem: str = ""


async def find_servers(named: Sequence[str] = ()) -> tuple[FoundServer, ...]:
    """Ask the usual addresses of this machine and `named` ones, all at once.

    A named one that does not answer, or is no model server, is there with its problem.

    Raises:
        UsageError: a name is no address.
    """
    urls = dict.fromkeys(map(address, named), "")
    usual = {f"http://127.0.0.1:{port}": name for port, name in USUAL}
    found = await asyncio.gather(*(look(url, name) for url, name in (urls | usual).items()))
    return tuple(server for server in found if server.url in urls or server.name != NOBODY)


def address(named: str) -> str:
    """What the user typed as a base_url: `box:11434` is `http://box:11434`.

    Raises:
        UsageError: it is no address.
    """
    url = named if "://" in named else f"http://{named}"
    try:
        return ServerSettings(model="", base_url=url).base_url
    except ValueError as error:
        raise UsageError(
            f"{named!r} is no address of a server.", hint="For example http://box:11434."
        ) from error


async def look(url: str, usual: str = "", model: str = "") -> FoundServer:
    """Ask one server what it is; `model`: whose context is wanted."""
    name = usual or "a server"
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        _, writer = await asyncio.wait_for(asyncio.open_connection(parts.hostname, port), _KNOCK)
        writer.close()
        return await asyncio.wait_for(_describe(url, name, model), 3 * _ASK)
    except NavigatorError as error:
        return FoundServer(NOBODY, url, problem=error.message)
    except (OSError, TimeoutError):
        return FoundServer(NOBODY, url, problem="does not answer")


async def _describe(url: str, name: str, model: str) -> FoundServer:
    # httpx takes its time to import: in a thread, since the screens are drawn meanwhile.
    transport = await asyncio.to_thread(
        Transport, ServerSettings(model="", base_url=url), Timeouts(connect=_KNOCK)
    )
    try:

        async def ask(path: str) -> Any:
            status, payload = await transport.get(f"{transport.root}{path}", _ASK)
            return payload if status == 200 else None

        status, payload = await transport.get(f"{transport.api}/models", _ASK)
        if status in (401, 403):
            hint = "wants a key: write the settings yourself, with api_key_env (docs/settings.md)"
            return FoundServer(name, url, problem=hint)
        if status != 200:
            return FoundServer(NOBODY, url, problem=f"is no model server (HTTP {status} for /v1/models)")
        listed = listed_models(payload)
        name = _NAMES.get(kind_by_owner(listed) or "", name)
        own = await ask("/api/v0/models") if name in ("LM Studio", "a server") else None
        if rows := _dict_rows(own, "data"):
            name = "LM Studio"
            listed = [
                row for row in rows if isinstance(row.get("id"), str) and row.get("type") in ("llm", "vlm")
            ]
        elif name in ("llama-swap", "a server") and isinstance(await ask("/running"), dict):
            name = "llama-swap"
        models = tuple(row["id"] for row in listed if not _NO_CHAT.search(row["id"]))
        if not models:
            return FoundServer(name, url, problem="lists no model")
        router = any("status" in row for row in listed)
        loaded = tuple(row["id"] for row in listed if _load_state(row) == "loaded")
        context = _positive(await _context(ask, name, model, listed, router)) if model else None
        loads = name in ("Ollama", "llama-swap") or router
        return FoundServer(name, url, models, loaded, loads, context)
    finally:
        await transport.aclose()


async def _context(
    ask: Callable[[str], Awaitable[Any]], name: str, model: str, listed: list[dict[str, Any]], router: bool
) -> Any:
    """What a server says of the context that a model is loaded with."""
    if name == "Ollama":
        listed = [{**row, "id": str(row.get("model"))} for row in _dict_rows(await ask("/api/ps"), "models")]
    row = next((row for row in listed if same_model(model, row["id"])), {})
    if name == "llama.cpp":
        said = await ask(f"/props?{urlencode({'model': model, 'autoload': 'false'})}" if router else "/props")
        made = said.get("default_generation_settings") if isinstance(said, dict) else None
        return made.get("n_ctx") if isinstance(made, dict) else None
    keys = {"Ollama": "context_length", "LM Studio": "loaded_context_length"}
    return row.get(keys.get(name, "max_model_len"))


def _load_state(row: dict[str, Any]) -> Any:
    """LM Studio's `state`, or a llama.cpp router's `status`."""
    status = row.get("status")
    return status.get("value") if isinstance(status, dict) else row.get("state")


def _dict_rows(said: Any, key: str) -> list[dict[str, Any]]:
    found = said.get(key) if isinstance(said, dict) else None
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else None


# Which of the models that were found writes and which reviews, how they share the card, and the settings that say so

GUESSED_CONTEXT = 32_768
"""Tokens, where a server does not say what its model was loaded with."""

SMALL_CONTEXT = 16_384
"""Tokens: with fewer, most changes and their surroundings do not fit."""

_MOST_ANSWER = 5_000
_BETWEEN = patterns.compile(r"[-_:/ ]")
_SIZE = patterns.compile(r"(a?)(\d+(?:\.\d+)?)b", patterns.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pick:
    """One role's model and the server that has it."""

    model: str
    server: FoundServer


def picks(servers: Sequence[FoundServer]) -> list[Pick]:
    """Everything that can be chosen."""
    return [Pick(model, server) for server in servers for model in server.models]


def pick_named(found: Sequence[Pick], wanted: str) -> Pick:
    """The model of that name.

    Raises:
        UsageError: no server lists it.
    """
    for pick in found:
        if same_model(wanted, pick.model):
            return pick
    listed = ", ".join(safe_line(pick.model) for pick in found)
    raise UsageError(f"No server that answers lists {wanted}.", hint=f"They list: {listed}.")


def suggested(found: Sequence[Pick]) -> tuple[Pick, Pick]:
    """Which one to write and which one to review, by the sizes in their names: fewest active parameters, and most in all."""

    def total(pick: Pick) -> float:
        return max((float(size) for active, size in _sizes(pick.model) if not active), default=0.0)

    def active(pick: Pick) -> float:
        return min((float(size) for _, size in _sizes(pick.model)), default=0.0)

    reviewer = max(found, key=total)
    others = [pick for pick in found if pick is not reviewer]
    return min(others, key=active, default=reviewer), reviewer


def suggested_again(found: Sequence[Pick]) -> tuple[Pick, Pick]:
    """As `suggested`; what the settings name already is suggested again."""
    fast, strong = suggested(found)
    with suppress(ConfigError):
        held = load_settings()
        if held.source is not None:
            fast, strong = (
                next((pick for pick in found if same_model(server.model, pick.model)), other)
                for server, other in ((held.generator, fast), (held.reviewer, strong))
            )
    return fast, strong


def _sizes(model: str) -> list[tuple[str, str]]:
    found = (_SIZE.fullmatch(part) for part in _BETWEEN.split(model))
    return [(match[1], match[2]) for match in found if match]


def strategy_for(writes: Pick, reviews: Pick) -> tuple[str, str]:
    """The strategy, and why it is this one."""
    here, there = writes.server, reviews.server
    if here.url != there.url:
        return "resident", "each model has a server of its own, and both answer now"
    if same_model(writes.model, reviews.model):
        return "resident", "one model plays both roles, so nothing is swapped"
    if here.loads:
        return "managed", f"{here.name} loads the model that it is asked for"
    if here.name == "LM Studio" and not {writes.model, reviews.model} <= set(here.loaded):
        return "command", "LM Studio's command `lms` swaps: turn its just-in-time loading off"
    return "resident", f"{here.name} lists both models and does not say that it swaps them"


def settings_text(
    writes: Pick, reviews: Pick, strategy: str, why: str, contexts: tuple[int | None, int | None]
) -> str:
    """The settings file, with comments."""
    lines = [
        "# Every key: docs/settings.md, or `navigator config show`. `navigator doctor` checks what this says.",
        "",
    ]
    roles = (
        ("generator", "writes the changes", writes, contexts[0]),
        ("reviewer", "reviews them", reviews, contexts[1]),
    )
    for role, does, pick, context in roles:
        tokens = context or GUESSED_CONTEXT
        origin = (
            f"as {pick.server.name} says"
            if context
            else "a guess: the server does not say what it was started with"
        )
        lines += [
            f"[{role}]  # {does}",
            f"model = {toml(pick.model)}",
            f"base_url = {toml(pick.server.url)}",
            f"context_tokens = {tokens}  # {origin}",
            f"max_tokens = {min(_MOST_ANSWER, tokens // 4)}  # of one answer",
            "",
        ]
    lines += ["[swap]", f"strategy = {toml(strategy)}  # {why}", ""]
    if strategy == "command" and writes.server.name == "LM Studio":
        loads = "; ".join(
            f"{role}) lms load {shlex.quote(pick.model)} --context-length {context or GUESSED_CONTEXT} -y ;"
            for role, _, pick, context in roles
        )
        script = f'lms unload --all && case "$1" in {loads}; esac'
        lines += ["[swap.command]", f"argv = {toml(['sh', '-ec', script, 'swap', '{role}'])}", ""]
    return "\n".join(lines)


def require_usable(text: str) -> None:
    """Raise what reading such settings and making their strategy would raise: a strategy that was asked for may need more."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "settings.toml"
        path.write_text(text, encoding="utf-8")
        try:
            settings = load_settings(path)
            strategy_class(str(settings.swap.strategy)).check(settings)
        except ConfigError as error:
            raise UsageError(
                f"These servers do not fit the strategy that you asked for: {error.message.replace(str(path), 'settings')}",
                hint="Leave --strategy out, or see docs/strategies.md.",
            ) from error


_LONGEST_LOAD = 600.0
_QUESTION = "Are you there? Answer with one word."


async def try_models(writes: Pick, reviews: Pick) -> tuple[float, tuple[int | None, int | None]]:
    """Ask the generator one question, which loads it; returns the seconds until it answered, and the context that each role's
    model is loaded with, where its server says so.

    Raises:
        ServingError: it does not answer.
    """
    patience = Timeouts(first_token=_LONGEST_LOAD, total=_LONGEST_LOAD)
    question = ChatRequest(
        [{"role": "user", "content": _QUESTION}], max_tokens=16, temperature=0.0, top_p=1.0
    )
    server = ServerSettings(model=writes.model, base_url=writes.server.url)
    began = time.monotonic()
    async with ModelClient(server, timeouts=patience) as client:
        with suppress(CutByLength):
            await client.chat(question)
    seconds = time.monotonic() - began
    mine, others = [
        (await look(pick.server.url, pick.server.name, pick.model)).context for pick in (writes, reviews)
    ]
    if others is None and writes.server.url == reviews.server.url and reviews.server.loads:
        others = mine  # not loaded now; such a server has one length for all
    return seconds, (mine, others)


def how_to_get_one() -> str:
    """Where a server is looked for, and models that others run on such a card."""
    usual = ", ".join(f"{name} {port}" for port, name in USUAL)
    presets = load_presets(resource_dir("swap"))
    size = max((card.total_mib / 1024 for card in cards()), default=0.0)
    fit = fitting(presets, size) or presets[:1]
    told = "".join(f"\n  {preset.words}" for preset in fit)
    return f"Start one (asked: {usual}) or name it: --server URL. `navigator demo` needs none. Models, for example:{told}"
