"""Flags that are known to go wrong, and the packaged profiles held to them."""

from __future__ import annotations

import pytest

from navigator.config.paths import resource_dir
from navigator.model.states import Role
from navigator.setup.profiles import load_profile, profile_names
from navigator.setup.render import server_command
from navigator.setup.sglang_flags import known_faults, packaged_table

SWAP = resource_dir("swap")
BUFFER = {"--speculative-algorithm": "NEXTN", "--mamba-radix-cache-strategy": "extra_buffer"}
LAZY = BUFFER | {"--mamba-radix-cache-strategy": "extra_buffer_lazy"}


@pytest.mark.parametrize(
    ("version", "flags", "hybrid", "names"),
    [
        ("0.5.23", BUFFER, True, ["sglang#36537"]),
        ("0.5.23", LAZY, True, []),
        ("0.5.23", {"--speculative-algorithm": "nextn"}, True, ["sglang#36537"]),
        ("0.5.23", BUFFER, False, []),
        ("0.5.23", {"--mamba-radix-cache-strategy": "extra_buffer"}, True, []),
        ("0.5.23", BUFFER | {"--speculative-algorithm": "NGRAM"}, True, []),
        ("0.5.22", LAZY, True, ["sglang#28407"]),
        ("0.5.9", BUFFER, False, ["sglang#28407"]),
        (
            "0.5.9",
            {"--speculative-algorithm": "NEXTN", "--mamba-scheduler-strategy": "extra_buffer"},
            True,
            ["sglang#36537", "sglang#28407"],
        ),
        ("", BUFFER, True, ["sglang#36537"]),
    ],
)
def test_what_is_known_to_go_wrong(
    version: str, flags: dict[str, str], hybrid: bool, names: list[str]
) -> None:
    assert [fault.name for fault in known_faults(version, flags, hybrid=hybrid)] == names


@pytest.mark.parametrize("name", profile_names(SWAP / "profiles"))
@pytest.mark.parametrize("role", [Role.GENERATOR, Role.REVIEWER])
@pytest.mark.parametrize("speculation", [False, True])
def test_no_packaged_profile_runs_into_one(name: str, role: Role, speculation: bool) -> None:
    server = load_profile(name, SWAP / "profiles").role(role)
    speculation = speculation and server.speculation is not None
    words = server_command(server, packaged_table(SWAP / "flags", "0.5.23"), speculation=speculation).words
    flags = {word: value for word, value in zip(words, (*words[1:], ""), strict=True) if word[:2] == "--"}
    assert (flags.get("--speculative-algorithm") == "NEXTN") is speculation
    assert known_faults("0.5.23", flags, hybrid=server.shape.linear_value_heads > 0) == []
    assert len([word for word in words if word.startswith("--mamba-radix")]) <= 1


def test_on_an_older_version_only_speculation_matches() -> None:
    server = load_profile("qwen3.5-96gb", SWAP / "profiles").generator
    table = packaged_table(SWAP / "flags", "0.5.9")
    for speculation in (False, True):
        words = server_command(server, table, speculation=speculation).words
        flags = dict(zip(words, (*words[1:], ""), strict=True))
        assert bool(known_faults("0.5.9", flags, hybrid=True)) is speculation
