"""`[swap.systemd]`: its defaults, what does not fit, and that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.config.settings import SystemdSettings, describe, load_settings
from navigator.model.errors import ConfigError


def test_defaults_are_those_of_the_script() -> None:
    """Word for word: with nothing set, Navigator tells the script what it would do by itself."""
    script = (Path(__file__).parents[2] / "swap" / "model-swap.sh").read_text("utf-8")
    own = SystemdSettings()
    for name, value in own.model_dump().items():
        if name.endswith("_seconds"):
            assert f"[{name}]={value:g}" in script
    assert own.generator_unit == "navigator-generator.service"
    assert "DEFAULTS[$role.unit]=navigator-$role.service" in script
    assert own.scope == "user"


def test_the_table_is_read_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[swap]\nstrategy = "systemd"\n[swap.systemd]\nscope = "system"\nload_seconds = 60\n', "utf-8"
    )
    settings = load_settings(file)
    assert (settings.swap.systemd.scope, settings.swap.systemd.load_seconds) == ("system", 60.0)
    shown = describe(settings)["swap"]["systemd"]
    assert shown["load_seconds"] == {"value": 60.0, "from": "file"}
    assert shown["scope"] == {"value": "system", "from": "file"}


@pytest.mark.parametrize(
    "line",
    [
        'scope = "both"',
        'generator_unit = "x"',
        'generator_unit = "--now.service"',
        'generator_unit = "navigator-reviewer.service"',
        "load_seconds = 0",
        "load_seconds = inf",
        "drain_seconds = 60",
        "surprise = 1",
    ],
)
def test_what_does_not_fit(tmp_path: Path, line: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[swap.systemd]\n{line}\n", "utf-8")
    with pytest.raises(ConfigError, match="swap"):
        load_settings(file)
