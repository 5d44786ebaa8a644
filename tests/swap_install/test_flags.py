"""Flags: the packaged lists, a parser in another process, and the real SGLang where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.model.errors import MissingPart, UsageError
from navigator.model.states import Role
from navigator.setup.profiles import load_profile, profile_names
from navigator.setup.render import server_command
from navigator.setup.sglang_flags import (
    FlagSource,
    find_sglang,
    packaged_table,
    packaged_versions,
    python_of,
    version_key,
)
from tests.swap_install.support import DATA, fake_sglang

TABLES = DATA / "flags"
PROFILES = DATA / "profiles"


def every_command(source: FlagSource) -> list[list[str]]:
    """Each packaged profile's two command lines, plain, with speculation where there is one, and asleep."""
    lines = []
    for name in profile_names(PROFILES):
        profile = load_profile(name, PROFILES)
        for role in (Role.GENERATOR, Role.REVIEWER):
            server = profile.role(role)
            lines.append(list(server_command(server, source.table()).words))
            lines.append(list(server_command(server, source.table(), asleep=True).words))
            if server.speculation is not None:
                lines.append(list(server_command(server, source.table(), speculation=True).words))
    return lines


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_every_profile_suits_both_versions(version: str, tmp_path: Path) -> None:
    source = FlagSource(TABLES, tmp_path, version=version)
    lines = every_command(source)
    assert len(lines) >= 10
    assert source.errors(lines) == [""] * len(lines)


def test_what_a_list_can_tell(tmp_path: Path) -> None:
    source = FlagSource(TABLES, tmp_path, version="0.5.23")
    told = source.errors(
        [
            ["--port", "1"],
            ["--no-such-flag"],
            ["--port"],
            ["--port", "--host", "x"],
            ["x"],
            ["--port=1", "--enable-metrics"],
        ]
    )
    assert told == [
        "",
        "--no-such-flag is unknown to SGLang 0.5.23",
        "--port needs a value",
        "--port needs a value",
        "no flag takes x",
        "",
    ]


def test_the_lists_differ_where_the_versions_do() -> None:
    assert packaged_versions(TABLES) == ["0.5.9", "0.5.23"]
    old, new = (packaged_table(TABLES, version) for version in packaged_versions(TABLES))
    assert "--mamba-scheduler-strategy" in old and "--mamba-scheduler-strategy" not in new
    assert "--language-model-only" in new and "--language-model-only" not in old
    assert old.flags["--api-key"] == new.flags["--api-key"] == "value"
    with pytest.raises(UsageError):
        packaged_table(TABLES, "0.5.10")


def test_versions_are_ordered_by_number() -> None:
    assert sorted(["0.5.23", "0.5.9", "0.10", "0.5.9.post1"], key=version_key)[-1] == "0.10"
    assert version_key("0.5.23.post1") == (0, 5, 23)


def test_a_parser_is_asked_once_and_again_when_it_changed(tmp_path: Path) -> None:
    python = fake_sglang(tmp_path / "sglang", "0.5.23")
    found = find_sglang(str(python))
    assert found is not None and found.version == "0.5.23"
    cache = tmp_path / "cache"
    source = FlagSource(TABLES, cache, installed=found)
    assert source.table().flags.keys() == packaged_table(TABLES, "0.5.23").flags.keys()
    assert source.table().flags["--enable-metrics"] == "switch"
    assert source.table().flags["--host"] == "value"
    assert source.errors([["--port", "x"]])[0].endswith("invalid int value: 'x'")
    kept = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert len(kept) == 2
    again = FlagSource(TABLES, cache, installed=found)
    assert again.table().flags == source.table().flags
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == kept
    arguments = tmp_path / "sglang/packages/sglang/srt/server_args.py"
    arguments.write_text(arguments.read_text().replace('name == "--help"', 'name in ("--help", "--host")'))
    changed = FlagSource(TABLES, cache, installed=found)
    assert "--host" not in changed.table()


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


def test_a_parser_that_breaks_is_named(tmp_path: Path) -> None:
    python = fake_sglang(tmp_path / "sglang", "0.5.23", broken="raise RuntimeError('no driver')\n")
    source = FlagSource(TABLES, tmp_path / "cache", installed=find_sglang(str(python)))
    with pytest.raises(MissingPart, match="no driver"):
        source.table()


def test_noise_on_stdout_is_not_the_answer(tmp_path: Path) -> None:
    python = fake_sglang(tmp_path / "sglang", "0.5.23", broken="print('{}')\nprint('importing …')\n")
    source = FlagSource(TABLES, tmp_path / "cache", installed=find_sglang(str(python)))
    assert "--port" in source.table()


def test_a_flag_that_cannot_be_done_without(tmp_path: Path) -> None:
    table = packaged_table(TABLES, "0.5.23")
    less = type(table)("0.5.23", {k: v for k, v in table.flags.items() if k != "--quantization"}, "table")
    server = load_profile("qwen3.5-96gb", PROFILES).generator
    with pytest.raises(MissingPart, match="does not have --quantization"):
        server_command(server, less)


@pytest.mark.engines
def test_the_real_parser_knows_what_the_list_says(real_sglang: Path, tmp_path: Path) -> None:
    found = find_sglang(str(real_sglang))
    assert found is not None and found.version == "0.5.23"
    source = FlagSource(TABLES, tmp_path, installed=found)
    assert source.table().flags == packaged_table(TABLES, "0.5.23").flags


@pytest.mark.engines
def test_the_real_parser_takes_every_profile(real_sglang: Path, tmp_path: Path) -> None:
    source = FlagSource(TABLES, tmp_path, installed=find_sglang(str(real_sglang)))
    lines = every_command(source)
    refused = [["--quantization", "moe_wna17"], ["--port", "x"], ["--model-path"]]
    told = source.errors([*lines, *refused])
    assert told[: len(lines)] == [""] * len(lines)
    assert all(told[len(lines) :]), told
