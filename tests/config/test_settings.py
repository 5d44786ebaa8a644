"""The settings file: its defaults, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.config.file import settings_rehearse
from navigator.config.settings import Settings, SystemdSettings, describe, load_settings
from navigator.model.errors import ConfigError
from navigator.model.states import Complexity, Role, TaskKind


def write(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_settings(write(folder, text))
    return caught.value


def test_the_swap_script_has_the_same_defaults() -> None:
    """Word for word: with nothing set, Navigator tells the script what it would do by itself."""
    script = (Path(__file__).parents[2] / "swap" / "model-swap.sh").read_text("utf-8")
    for name, value in SystemdSettings().model_dump().items():
        if name.endswith("_seconds"):
            assert f"[{name}]={value:g}" in script
    assert SystemdSettings().generator_unit == "navigator-generator.service"
    assert "DEFAULTS[$role.unit]=navigator-$role.service" in script


def test_routing_names_the_model_that_writes_each_kind(tmp_path: Path) -> None:
    text = '[routing]\nreviewer = ["security", "complex"]\n'
    routing = load_settings(write(tmp_path, text)).routing
    for kind in TaskKind:
        easy = Role.REVIEWER if kind is TaskKind.SECURITY else Role.GENERATOR
        assert routing.writer(kind, Complexity.MEDIUM) is easy
        assert routing.writer(kind, Complexity.COMPLEX) is Role.REVIEWER
        assert Settings().routing.writer(kind, Complexity.COMPLEX) is Role.GENERATOR
    error = refusal(tmp_path, '[routing]\nreviewer = ["chores"]\n')
    assert "routing.reviewer" in str(error)


def test_the_variable_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, '[reviewer]\nmodel = "x/y"\n')
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(path))
    settings = load_settings()
    assert settings.source == path
    assert settings.server(Role.REVIEWER).model == "x/y"
    assert settings.server(Role.GENERATOR) == Settings().generator


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", None),
        ('[reviewer]\nmodel = "x/y"\n', None),
        ('[reviewer]\nmodel = "rehearsal/x"\n', True),
        ('[swap]\nstrategy = "rehearsal"\n', True),
        ('[swap]\nstrategy = "systemd"\n', False),
    ],
)
def test_what_only_reads_knows_a_rehearsal_without_checking_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: bool | None
) -> None:
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(write(tmp_path, text)))
    assert load_settings().rehearsal is said
    assert settings_rehearse() is said
    write(tmp_path, f"generator = 3\nunknown = 1\n{text}")
    assert settings_rehearse() is said
    write(tmp_path, "[swap")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        settings_rehearse()


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        ("[batch]\ntarget = 3\ntargte = 4\n", "batch.targte", "target"),
        ("# a comment\n[bacth]\ntarget = 3\n", "bacth", "batch"),
        ('[generator]\nbase-url = "http://x"\n', "generator.base-url", "base_url"),
        ('[[project]]\npath = "/a"\n[[project]]\npath = "/b"\nchek = "x"\n', "project[2].chek", "check"),
        ("swap.strateg = 'sleep'\n", "swap.strateg", "strategy"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known(
    tmp_path: Path, text: str, key: str, near: str
) -> None:
    error = refusal(tmp_path, text)
    assert error.message == f"{tmp_path / 'config.toml'}: unknown key {key!r}."
    assert error.hint == f"Did you mean {near!r}?"


def test_a_key_like_no_other_gets_the_list(tmp_path: Path) -> None:
    assert "quiet_minutes" in refusal(tmp_path, "[batch]\nzzz = 1\n").hint
    # `source` is a field of the model and not a word of the file.
    assert "unknown key 'source'" in refusal(tmp_path, "source = 'x'\n").message


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[batch]\ntarget = 0\n", "config.toml: batch.target"),
        ('[batch]\ntarget = "30"\n', "config.toml: batch.target"),
        ("[batch]\nrevisions = 3\n", "config.toml: batch.revisions"),
        ("[batch]\nmax_wait_minutes = inf\n", "config.toml: batch.max_wait_minutes"),
        ('[checks]\nunsandboxed = "yes"\n', "config.toml: checks.unsandboxed"),
        ('[swap]\nstrategy = "magic"\n', "config.toml: swap.strategy"),
        ('[swap]\nstrategy = "command"\n', "config.toml: swap"),
        ("[swap.sleep]\nwake_seconds = 60\n", "swap.sleep"),
        ('[generator]\nbase_url = "127.0.0.1:30000"\n', "config.toml: generator.base_url"),
        ('[generator]\nbase_url = "ftp://host"\n', "config.toml: generator.base_url"),
        ('[generator]\nmodel = ""\n', "config.toml: generator.model"),
        ("[generator]\ntemperature = nan\n", "config.toml: generator.temperature"),
        ("[generator]\nmax_tokens = 131072\n", "config.toml: generator"),
        ("[final]\nenabled = true\n", "config.toml: final"),
        ('[[project]]\npath = "src/thing"\n', "config.toml: project[1].path"),
        ('[[project]]\npath = "/a"\n[[project]]\npath = "/b/../a"\n', "project: /b/../a appears twice"),
        ('[[project]]\npath = "/a/x"\n[[project]]\npath = "/b/x"\n', "project: the name x appears twice"),
        ('[project]\npath = "/a"\n', "config.toml: project"),
        ("[batch\n", "is not valid TOML"),
        ('[swap.systemd]\nscope = "both"\n', "swap.systemd.scope"),
        ('[swap.systemd]\ngenerator_unit = "x"\n', "swap"),
        ('[swap.systemd]\ngenerator_unit = "--now.service"\n', "swap"),
        ('[swap.systemd]\ngenerator_unit = "navigator-reviewer.service"\n', "swap"),
        ("[swap.systemd]\nload_seconds = inf\n", "swap.systemd.load_seconds"),
        ("[swap.systemd]\ndrain_seconds = 60\n", "swap.systemd.drain_seconds"),
    ],
)
def test_a_value_that_does_not_fit_is_named(tmp_path: Path, text: str, where: str) -> None:
    assert where in str(refusal(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        '[generator]\napi_key_env = "sk-proj-SECRET"\n',
        '[generator]\nbase_url = "http://user:SECRET@host"\n',
        '[generator]\nbase_url = "http://host/?key=SECRET"\n',
        '[generator]\nthinking = "SECRET"\n',
    ],
)
def test_a_key_in_the_wrong_place_is_not_repeated(tmp_path: Path, text: str) -> None:
    error = refusal(tmp_path, text)
    assert "SECRET" not in str(error)
    assert "SECRET" not in repr(error.__cause__)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"[batch]\n# \xff\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_settings(path)


def test_projects_are_frozen_and_resolve_their_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    text = '[[project]]\npath = "~/src/thing"\ninclude = ["a", "b"]\n'
    entry = load_settings(write(tmp_path, text)).project[0]
    assert entry.include == ("a", "b")
    assert entry.location == (tmp_path / "src" / "thing").resolve()
    assert entry.display_name == "thing"
    assert hash(entry.include)


def test_describe_says_where_each_value_came_from(tmp_path: Path) -> None:
    deep = '[swap]\nstrategy = "systemd"\n[swap.systemd]\nload_seconds = 60\n'
    path = write(tmp_path, f'[batch]\ntarget = 30\n{deep}[[project]]\npath = "/a"\n')
    shown = describe(load_settings(path))
    assert shown["file"] == str(path)
    assert shown["batch"]["target"] == {"value": 30, "from": "file"}
    assert shown["batch"]["revisions"] == {"value": 2, "from": "default"}
    assert shown["generator"]["base_url"]["from"] == "default"
    assert shown["projects"][0]["path"] == {"value": "/a", "from": "file"}
    assert shown["swap"]["systemd"]["load_seconds"] == {"value": 60.0, "from": "file"}
    assert shown["swap"]["systemd"]["scope"] == {"value": "user", "from": "default"}
    assert describe(Settings())["file"] is None
