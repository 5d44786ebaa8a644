"""Launch profiles: each strategy that launches servers hands the name on; the others refuse them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.config.settings import CommandSettings, Settings, SwapSettings
from navigator.domain.errors import ConfigError
from navigator.domain.states import Role
from navigator.serving.swap import make_strategy
from navigator.serving.swap.strategies.command import _filled
from navigator.serving.swap.strategies.systemd import SystemdStrategy


def test_a_unit_stands_in_for_the_roles_own(tmp_path: Path) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text("#!/bin/sh\n")
    systemctl.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    strategy = SystemdStrategy(Settings(swap=SwapSettings(strategy="systemd")), environment={"PATH": path})
    strategy.check_profiles(("navigator-reviewer.service", "fast.service"))
    with pytest.raises(ConfigError, match="is no unit"):
        strategy.check_profiles(("fast.service", "rm -rf /"))
    strategy.use_profile(Role.REVIEWER, "fast.service")
    told = strategy._told()
    assert told["NAVIGATOR_SWAP_REVIEWER_UNIT"] == "fast.service"
    assert told["NAVIGATOR_SWAP_GENERATOR_UNIT"] == "navigator-generator.service"
    strategy.use_profile(Role.REVIEWER, "")
    assert strategy._told()["NAVIGATOR_SWAP_REVIEWER_UNIT"] == "navigator-reviewer.service"


def test_a_managed_server_is_asked_for_another_model(tmp_path: Path) -> None:
    strategy = make_strategy(Settings(swap=SwapSettings(strategy="managed")), StatePaths(tmp_path))
    strategy.check_profiles(("plain", "with-draft"))
    strategy.use_profile(Role.REVIEWER, "with-draft")
    assert strategy.server(Role.REVIEWER).model == "with-draft"
    strategy.use_profile(Role.REVIEWER, "")
    assert strategy.server(Role.REVIEWER).model == Settings().reviewer.model


def test_a_command_is_told_the_profile_where_it_takes_one(tmp_path: Path) -> None:
    words = ("swap", "{role}", "--profile={profile}")
    assert _filled(words, Role.REVIEWER, "fast") == ["swap", "reviewer", "--profile=fast"]
    assert _filled(("swap", "{profile}"), Role.REVIEWER, "") == ["swap", "default", "reviewer"]
    plain = SwapSettings(strategy="command", command=CommandSettings(argv=("swap",)))
    with pytest.raises(ConfigError, match="not told the launch profile"):
        make_strategy(Settings(swap=plain), StatePaths(tmp_path)).check_profiles(("a", "b"))


def test_servers_that_keep_running_have_no_profiles(tmp_path: Path) -> None:
    settings = Settings.model_validate({"swap": {"strategy": "adapter"}})
    with pytest.raises(ConfigError, match="launches no servers"):
        make_strategy(settings, StatePaths(tmp_path)).check_profiles(("a", "b"))
