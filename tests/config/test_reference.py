"""The settings reference: every key has a meaning, and docs/settings.md is what the code prints."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from navigator.cli import setup as command
from navigator.config.reading import inner_model
from navigator.config.reference import key_meanings, toml
from navigator.config.settings import Settings, load_settings
from navigator.model.errors import ConfigError

ROOT = Path(__file__).parents[2]


def tables(model: type[BaseModel]) -> list[type[BaseModel]]:
    inner = [found for field in model.model_fields.values() if (found := inner_model(field.annotation))]
    return [*inner, *(deeper for table in inner for deeper in tables(table))]


def test_every_key_has_a_meaning() -> None:
    checked = 0
    for table in tables(Settings):
        for key, field in table.model_fields.items():
            if inner_model(field.annotation) is None:
                assert key_meanings(table)[key].endswith((".", "…")), (table, key)
                checked += 1
    assert checked > 80


def test_the_page_is_current() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, "docs/make_settings.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert page == printed.stdout, "run: python docs/make_settings.py > docs/settings.md"


def test_what_is_shown_is_a_settings_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[generator]\nextra_body = {a = {"b c" = [1, "x"]}}\n[swap]\nstrategy = "command"\n[swap.command]\n'
        'argv = ["swap", "{role}"]\n[[project]]\npath = "/a"\ncheck = "make \\"x\\""\n'
    )
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(file))
    command.show.callback()  # type: ignore[misc]
    shown = tmp_path / "shown.toml"
    shown.write_text(capsys.readouterr().out)
    assert load_settings(shown).model_copy(update={"source": file}) == load_settings()
    text = shown.read_text()
    assert "# Longest answer in tokens" in text and "# Command that runs the project's tests" in text
    assert tomllib.loads(text)["project"][0]["check"] == 'make "x"'


def test_values_as_toml_writes_them() -> None:
    assert toml({"a": [True, 1.5, 'x"']}) == '{"a" = [true, 1.5, "x\\""]}'


def test_a_named_file_that_does_not_exist_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(tmp_path / "absent.toml"))
    with pytest.raises(ConfigError, match="does not exist") as caught:
        load_settings()
    assert caught.value.exit_code == 2 and "NAVIGATOR_CONFIG" in caught.value.hint
    monkeypatch.delenv("NAVIGATOR_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load_settings() == Settings() and Settings().source is None
