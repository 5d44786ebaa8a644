"""Metrics of a running conductor, read by the Prometheus client's own parser."""

from __future__ import annotations

import re
import socket
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from navigator.config.settings import MetricsSettings
from navigator.figures.cost import call_totals
from navigator.model.errors import MissingPart
from tests.journey.room import Room
from tests.journey.scripted_models import READER, WRITER, Messages
from tests.journey.swaps import staying, until
from tests.swap.desk import quiet_port

DOCS = Path(__file__).parents[2] / "docs" / "scaling.md"
ORDER = ("role", "to", "verdict", "outcome", "kind", "rehearsal")
SECRET = "sk-planted-0123456789abcdef"


@pytest.fixture
def room(swapped: Room) -> Room:
    return swapped


def listen(room: Room) -> str:
    address = f"127.0.0.1:{quiet_port()}"
    with room.config.open("a") as file:
        file.write(f'[metrics]\nlisten = "{address}"\n')
    return address


def scrape(address: str) -> tuple[str, dict[tuple[str, ...], float]]:
    """The text, and its samples by name and values of the labels."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{address}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    samples = {
        (sample.name, *(sample.labels[name] for name in ORDER if name in sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    return text, samples


def test_a_session_is_counted_from_its_queue_to_its_verdicts(room: Room) -> None:
    models = room.models
    room.config.write_text(room.config.read_text().replace("[reviewer]", "max_inflight = 2\n[reviewer]"))
    address = listen(room)
    writing = models.write
    seen: list[dict[tuple[str, ...], float]] = []

    def watched(messages: Messages) -> str:
        seen.append(scrape(address)[1])
        return writing(messages)

    models.write = watched
    for number in range(4):
        room.queue(f"Make double() multiply, {number} {SECRET}", files=[])

    def meanwhile(ask: Any) -> None:
        until(lambda: len(models.read_by) == 4, "the reviews")
        verdicts = ("navigator_verdicts_total", "reviewer", "approve", "false")
        until(lambda: scrape(address)[1].get(verdicts) == 4, "the verdicts")
        until(lambda: scrape(address)[1]["navigator_running", "reviewer", "false"] == 0, "the last task")
        text, last = scrape(address)
        assert [last["navigator_resident", role, "false"] for role in ("reviewer", "generator")] == [1, 0]
        assert last["navigator_swaps_total", "reviewer", "done", "false"] == 1
        assert last["navigator_swap_seconds_total", "reviewer", "false"] > 0
        totals = {total.role.value: total for total in call_totals(room.read())}
        for role, total in totals.items():
            assert last["navigator_tokens_total", role, "completion", "false"] == total.completion_tokens
            assert last["navigator_tokens_total", role, "prompt", "false"] == total.prompt_tokens
        documented = set(re.findall(r"navigator_\w+", DOCS.read_text("utf-8")))
        assert documented == {name for name, *_ in last if name.startswith("navigator_")}
        assert not [word for word in (SECRET, "double", "code", WRITER, READER) if word in text]

    staying(room, meanwhile)
    depths = [each["navigator_queue_depth", "generator", "false"] for each in seen]
    running = [each["navigator_running", "generator", "false"] for each in seen]
    assert max(depths) > 0 and max(running) > 0
    assert all(depth + busy <= 4 for depth, busy in zip(depths, running, strict=True))
    assert max(each["navigator_queue_oldest_seconds", "generator", "false"] for each in seen) > 0
    with pytest.raises(OSError, match="refused"):
        scrape(address)


def test_an_address_in_use_ends_the_session_with_its_name(room: Room) -> None:
    address = listen(room)
    with (
        socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))),
        pytest.raises(MissingPart, match=f"{address}: Address already in use"),
    ):
        room.work()


def test_without_the_library_its_name_is_said(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    listen(room)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingPart, match="prometheus-client") as missing:
        room.work()
    assert "navigator-cascade[metrics]" in missing.value.hint


@pytest.mark.parametrize("listen", ["9464", "localhost:9464", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:x"])
def test_an_address_is_an_ip_address_and_a_port(listen: str) -> None:
    with pytest.raises(ValueError, match="port"):
        MetricsSettings(listen=listen)
    assert MetricsSettings(listen="[::1]:9464").address == ("::1", 9464)
