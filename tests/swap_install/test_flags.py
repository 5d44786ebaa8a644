"""Flags: a parser in another process, a stand-in for it, and the real SGLang where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.model.errors import MissingPart
from navigator.model.states import Role
from navigator.setup.profiles import load_profile, profile_names
from navigator.setup.render import server_command
from navigator.setup.sglang_flags import FlagSource, FlagTable, find_sglang, python_of
from tests.swap_install.support import DATA, LISTS, fake_sglang

PROFILES = DATA / "profiles"
PROGRAM = DATA / "flags" / "list_flags.py"


def source_of(python: Path) -> FlagSource:
    found = find_sglang(str(python))
    assert found is not None
    return FlagSource(found, PROGRAM)


def listed(version: str) -> set[str]:
    lines = (LISTS / f"sglang-{version}.txt").read_text().splitlines()
    return {line.partition(" ")[0] for line in lines if line.startswith("--")}


def every_command(table: FlagTable) -> list[list[str]]:
    """Each packaged profile's two command lines, plain and asleep."""
    servers = [
        load_profile(name, PROFILES).role(role)
        for name in profile_names(PROFILES)
        for role in (Role.GENERATOR, Role.REVIEWER)
    ]
    return [
        list(server_command(server, table, asleep=asleep).words)
        for server in servers
        for asleep in (False, True)
    ]


def test_every_profile_suits_the_installed_version(tmp_path: Path) -> None:
    source = source_of(fake_sglang(tmp_path / "sglang", "0.5.23"))
    assert source.table() == FlagTable("0.5.23", frozenset(listed("0.5.23")))
    assert source.errors([["--port", "x"]])[0].endswith("invalid int value: 'x'")
    lines = every_command(source.table())
    assert len(lines) == 8
    assert source.errors(lines) == [""] * len(lines)
    assert all(sum(word.startswith("--mamba") for word in line) <= 2 for line in lines)


def test_the_first_name_of_a_flag_that_is_known_is_taken() -> None:
    lines = every_command(FlagTable("0.5.9", frozenset(listed("0.5.9"))))
    assert all("--cuda-graph-max-bs" in line and "--cuda-graph-max-bs-decode" not in line for line in lines)


@pytest.mark.parametrize("form", ["python", "venv", "command"])
def test_ways_to_name_an_environment(tmp_path: Path, form: str) -> None:
    python = fake_sglang(tmp_path / "sglang", "0.5.9")
    command = python.parent / "sglang"
    command.write_text("#!/bin/sh\n")
    named = {"python": python, "venv": python.parent.parent, "command": command}[form]
    assert python_of(named) == python
    found = find_sglang(str(named))
    assert found is not None and found.python == python


def test_an_environment_without_sglang(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    with pytest.raises(MissingPart, match="There is no SGLang at"):
        find_sglang(str(tmp_path))


def test_a_parser_that_breaks_is_named_and_noise_on_stdout_is_not_the_answer(tmp_path: Path) -> None:
    broken = fake_sglang(tmp_path / "broken", "0.5.23", broken="raise RuntimeError('no driver')\n")
    with pytest.raises(MissingPart, match="no driver"):
        source_of(broken).table()
    noisy = fake_sglang(tmp_path / "noisy", "0.5.23", broken="print('{}')\nprint('importing …')\n")
    assert "--port" in source_of(noisy).table().names


def test_a_flag_that_cannot_be_done_without() -> None:
    less = FlagTable("0.5.23", frozenset(listed("0.5.23") - {"--quantization"}))
    with pytest.raises(MissingPart, match="does not have --quantization"):
        server_command(load_profile("qwen3.5-96gb", PROFILES).generator, less)


@pytest.mark.engines
def test_the_real_parser_takes_every_profile(real_sglang: Path) -> None:
    source = source_of(real_sglang)
    assert source.table().names == listed("0.5.23")
    lines = every_command(source.table())
    refused = [["--quantization", "moe_wna17"], ["--port", "x"], ["--model-path"]]
    told = source.errors([*lines, *refused])
    assert told[: len(lines)] == [""] * len(lines)
    assert all(told[len(lines) :]), told
