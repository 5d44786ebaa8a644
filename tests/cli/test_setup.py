"""`navigator setup` against servers on the loopback that speak Ollama's, llama.cpp's, LM Studio's and SGLang's lists."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.config.paths import StatePaths, resource_dir
from navigator.config.settings import Settings, load_settings
from navigator.model.states import Role
from navigator.setup.profiles import BASIS, fitting, load_presets
from navigator.setup.servers import FoundServer, find_servers, how_to_get_one, look, picks, suggested
from navigator.swap import make_strategy, strategy_class
from navigator.swap.machine import Gpu
from tests.cli.boxes import Box, serving
from tests.cli.conftest import Command
from tests.journey.support import make_repository

SMALL, LARGE = "qwen3-coder:30b", "gpt-oss:120b"


@pytest.fixture
def fresh(tmp_path: Path) -> Command:
    return Command(tmp_path / "state", tmp_path / "new" / "config.toml")


@pytest.fixture
def boxes() -> Iterator[dict[str, Box]]:
    made = {
        "ollama": Box("ollama", (SMALL, LARGE)),
        "router": Box("llama.cpp", ("qwen3-coder-30b", "gpt-oss-120b"), router=True),
        "llama.cpp": Box("llama.cpp", ("qwen3-coder-30b",), context=24_576),
        "lmstudio": Box("lmstudio", ("qwen/qwen3-coder-30b", "openai/gpt-oss-20b")),
        "sglang": Box("sglang", ("Qwen/Qwen3.5-35B-A3B",), context=131_072),
    }
    with ExitStack() as stack:
        for box in made.values():
            stack.enter_context(serving(box))
        yield made


@pytest.mark.parametrize(
    ("kind", "name", "strategy", "context"),
    [
        ("ollama", "Ollama", "managed", 32_768),
        ("router", "llama.cpp", "managed", 32_768),
        ("llama.cpp", "llama.cpp", "resident", 24_576),
        ("lmstudio", "LM Studio", "command", 32_768),
        ("sglang", "SGLang", "resident", 131_072),
    ],
)
def test_each_server_is_known_and_gets_settings_that_hold(
    fresh: Command, boxes: dict[str, Box], kind: str, name: str, strategy: str, context: int
) -> None:
    done = fresh.run("setup", "--server", boxes[kind].url, *chosen(boxes[kind]), "--yes")
    assert f"{name} " in done.stderr and "It answered after" in done.stderr
    settings = load_settings(fresh.config)
    assert settings.swap.strategy == strategy
    strategy_class(strategy).check(settings)
    for role in (Role.GENERATOR, Role.REVIEWER):
        server = settings.server(role)
        assert server.model in boxes[kind].models and server.base_url == boxes[kind].url
    assert settings.generator.context_tokens == context
    assert len(boxes[kind].chats) == 1
    if strategy == "command":
        assert settings.swap.command.argv[-1] == "{role}" and "text-embedding" not in done.stderr


def chosen(box: Box) -> list[str]:
    """The flags by which servers that happen to run on this machine are not taken."""
    return ["--generator", box.models[0], "--reviewer", box.models[-1]]


def test_it_writes_once_prints_without_writing_and_keeps_what_was_changed(
    fresh: Command, boxes: dict[str, Box]
) -> None:
    words = ("setup", "--server", boxes["ollama"].url, *chosen(boxes["ollama"]))
    printed = fresh.run(*words, "--print").stdout
    assert not fresh.config.exists() and not fresh.state.exists()
    assert fresh.run(*words, code=2).stderr.startswith("navigator: There is no terminal")
    fresh.run(*words, "--yes")
    assert fresh.config.read_text().partition("\n")[2].rstrip("\n") == printed.rstrip("\n")
    assert fresh.config.stat().st_mode & 0o777 == 0o600
    written = fresh.config.read_bytes()
    assert "says so already" in fresh.run(*words, "--yes").stderr
    assert fresh.config.read_bytes() == written
    # Its own file follows other answers; one that was changed is shown the difference, and stays.
    again = fresh.run(
        "setup", "--server", boxes["ollama"].url, "--generator", LARGE, "--reviewer", LARGE, "--yes"
    )
    assert "does both" in again.stderr and load_settings(fresh.config).swap.strategy == "resident"
    own = fresh.config.read_bytes()
    fresh.run("setup", "--server", boxes["ollama"].url, "--yes")  # what was chosen before is suggested again
    assert fresh.config.read_bytes() == own
    fresh.config.write_text(fresh.config.read_text() + "\n[batch]\ntarget = 3\n")
    kept = fresh.config.read_bytes()
    assert "has your own changes and stays" in fresh.run(*words, "--yes").stderr
    assert fresh.config.read_bytes() == kept
    fresh.run("config", "check")


def test_projects_are_found_and_their_tests_guessed_but_not_run(
    fresh: Command, boxes: dict[str, Box], tmp_path: Path
) -> None:
    folder = tmp_path / "src"
    make_repository(folder / "billing", {"Makefile": b"test:\n\ttouch ran\n"})
    make_repository(folder / "deep" / "web", {"index.html": b"<p>\n"})
    words = ("setup", "--server", boxes["sglang"].url, *chosen(boxes["sglang"]), "--projects", str(folder))
    assert "make test" in fresh.run(*words, "--yes").stderr
    found = {held["name"]: held["check"] for held in fresh.json("project", "list")["projects"]}
    assert found == {"billing": "make test", "web": ""}
    assert not list(tmp_path.rglob("ran"))
    assert "No new repositories" in fresh.run(*words, "--yes").stderr


def test_two_servers_keep_both_models(fresh: Command, boxes: dict[str, Box]) -> None:
    two = ("--server", boxes["llama.cpp"].url, "--server", boxes["sglang"].url)
    models = ("--generator", "qwen3-coder-30b", "--reviewer", "Qwen/Qwen3.5-35B-A3B")
    assert "a server of its own" in fresh.run("setup", *two, *models, "--yes").stderr
    settings = load_settings(fresh.config)
    assert (settings.swap.strategy, settings.reviewer.context_tokens) == ("resident", 131_072)


def test_what_cannot_be_used_is_said(fresh: Command, boxes: dict[str, Box]) -> None:
    url = boxes["ollama"].url
    said = fresh.run("setup", "--server", url, "--generator", "nosuch:7b", "--yes", code=2).stderr
    assert "nosuch:7b" in said and SMALL in said
    ask = ("setup", "--server", url, "--generator", SMALL, "--reviewer", LARGE, "--yes", "--strategy")
    assert "needs argv" in fresh.run(*ask, "command", code=2).stderr
    assert not fresh.config.exists() and boxes["ollama"].chats == []
    fresh.run(*ask, "resident")
    assert load_settings(fresh.config).swap.strategy == "resident"
    fresh.config.unlink()
    assert "no address" in fresh.run("setup", "--server", "http://u:p@box", "--yes", code=2).stderr
    with (
        serving(Box("ollama", (SMALL,), key="secret")) as locked,
        serving(Box("ollama", (SMALL,), context=4096)) as short,
    ):
        assert "wants a key" in asyncio.run(look(locked.url)).problem
        small = fresh.run("setup", "--server", short.url, "--generator", SMALL, "--reviewer", SMALL, "--yes")
        assert "OLLAMA_CONTEXT_LENGTH" in small.stderr
    assert asyncio.run(look("http://127.0.0.1:9")).problem == "does not answer"


def test_only_the_loopback_and_named_hosts_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def noted(url: str, usual: str = "", model: str = "") -> FoundServer:
        asked.append(url)
        return FoundServer("–", url, problem="does not answer")

    monkeypatch.setattr("navigator.setup.servers.look", noted)
    assert [one.url for one in asyncio.run(find_servers(("box:11434",)))] == ["http://box:11434"]
    assert [url for url in asked if not url.startswith("http://127.0.0.1:")] == ["http://box:11434"]


def test_sizes_in_names_suggest_who_writes_and_who_reviews() -> None:
    server = FoundServer("Ollama", "http://x", (LARGE, "llama3.2:3b", "qwen3.5-122b-a10b", "qwen3.5-35b-a3b"))
    writes, reviews = suggested(picks([server]))
    assert (writes.model, reviews.model) == ("llama3.2:3b", "qwen3.5-122b-a10b")


def test_no_request_reloads_an_ollama_model(boxes: dict[str, Box], tmp_path: Path) -> None:
    """Ollama loads a model again when num_ctx changes. No request of Navigator names one, whatever its length."""
    box = boxes["ollama"]
    roles = {"model": SMALL, "base_url": box.url}
    settings = Settings.model_validate(
        {"generator": roles, "reviewer": roles | {"model": LARGE}, "swap": {"strategy": "managed"}}
    )

    async def work() -> None:
        strategy = make_strategy(settings, StatePaths(tmp_path).ensure())
        for role in (Role.GENERATOR, Role.REVIEWER):
            assert (await strategy.swap(role, lambda _: None)).outcome == "done"
            async with ModelClient(settings.server(role)) as client:
                for words in (1, 4_000, 20):
                    question = ChatRequest(
                        [{"role": "user", "content": "word " * words}],
                        max_tokens=8 * words,
                        temperature=0.2,
                        top_p=0.9,
                    )
                    await client.chat(question)
        await strategy.close()

    asyncio.run(work())
    assert box.loads == [(SMALL, 32_768), (LARGE, 32_768)]
    assert not any("num_ctx" in str(body) or "options" in body for body in box.chats)


def test_presets_say_whose_figures_they_are() -> None:
    presets = load_presets(resource_dir("swap"))
    assert {preset.card_gb for preset in presets} == {16, 24, 48, 96}
    assert all(BASIS in preset.words and "(" in preset.words for preset in presets)
    assert any(preset.generator == preset.reviewer for preset in presets)
    assert [preset.card_gb for preset in fitting(presets, 23.9)] == [24, 24]
    assert fitting(presets, 8) == ()


def test_doctor_says_where_a_context_is_shorter_than_the_settings(fresh: Command) -> None:
    with serving(Box("ollama", (SMALL,))) as box:
        fresh.run("setup", "--server", box.url, "--generator", SMALL, "--reviewer", SMALL, "--yes")
        fresh.config.write_text(
            fresh.config.read_text().replace("context_tokens = 32768", "context_tokens = 65536")
        )
        assert "context of 32,768 tokens; the settings say 65,536" in fresh.run("doctor", code=None).stdout


def test_without_a_server_it_says_how_to_get_one_for_this_card(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Gpu("RTX 3090", 24_576, 0, "580")
    for there, name in (([card], "Qwen3.8-27B"), ([], "Qwen3.8-Flash-Next")):
        monkeypatch.setattr("navigator.setup.servers.cards", lambda there=there: there)
        hint = how_to_get_one()
        assert "Ollama 11434" in hint and "--server URL" in hint and name in hint and BASIS in hint
