"""The settings file: its defaults, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.config.settings import Settings, describe, load_settings, time_scale
from navigator.model.errors import ConfigError, UsageError
from navigator.model.states import Complexity, Role, TaskKind

DOCUMENTED = """
[generator]
model = "Qwen/Qwen3.5-35B-A3B-GPTQ-Int4"
base_url = "http://127.0.0.1:30000"
api_key_env = ""
max_inflight = 8
context_tokens = 131072
tokenizer = ""
temperature = 0.2
top_p = 0.9
max_tokens = 5000
thinking = false
extra_body = {}
looks = 6
logprobs = false
[routing]
reviewer = []
[swap]
script = ""
model_dirs = []
[swap.command]
argv = []
[swap.systemd]
scope = "user"
[batch]
target = 30
max_wait_minutes = 30
quiet_minutes = 3
revisions = 2
[checks]
timeout_seconds = 300
memory_mb = 4096
unsandboxed = false
[[project]]
path = "~/src/thing"
base = ""
landing = "branch"
check_mounts = []
careful = []
include = []
exclude = []
conventions = "AGENTS.md"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_settings(write(folder, text))
    return caught.value


def test_every_documented_default_is_the_default(tmp_path: Path) -> None:
    spelled = load_settings(write(tmp_path, DOCUMENTED))
    silent = load_settings(write(tmp_path, '[[project]]\npath = "~/src/thing"\n'))
    assert spelled == silent
    # Every key of the documented tables was named, but those without a default.
    for table, missing in (
        ("generator", {"agent"}),
        ("routing", set()),
        ("swap", {"strategy"}),
        ("batch", set()),
        ("checks", set()),
    ):
        section = getattr(spelled, table)
        assert set(type(section).model_fields) - section.model_fields_set == missing
    assert set(type(spelled.swap.command).model_fields) == spelled.swap.command.model_fields_set


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


def test_a_missing_file_means_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAVIGATOR_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    settings = load_settings()
    assert settings == Settings()
    assert settings.source is None
    assert settings.swap.strategy is None
    assert settings.final.enabled is False


def test_the_variable_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, '[reviewer]\nmodel = "x/y"\n')
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(path))
    settings = load_settings()
    assert settings.source == path
    assert settings.server(Role.REVIEWER).model == "x/y"
    assert settings.server(Role.GENERATOR) == Settings().generator


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
    path = write(tmp_path, '[batch]\ntarget = 30\n[[project]]\npath = "/a"\n')
    shown = describe(load_settings(path))
    assert shown["file"] == str(path)
    assert shown["batch"]["target"] == {"value": 30, "from": "file"}
    assert shown["batch"]["revisions"] == {"value": 2, "from": "default"}
    assert shown["generator"]["base_url"]["from"] == "default"
    assert shown["projects"][0]["path"] == {"value": "/a", "from": "file"}
    assert describe(Settings())["file"] is None


def test_time_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAVIGATOR_TIME_SCALE", raising=False)
    assert time_scale(None) == 1.0
    monkeypatch.setenv("NAVIGATOR_TIME_SCALE", "0.25")
    assert time_scale(None) == 0.25
    assert time_scale(0.0) == 0.0


@pytest.mark.parametrize("named", ["fast", "-1", "nan", "inf", "1,5"])
def test_a_time_scale_that_is_none(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("NAVIGATOR_TIME_SCALE", named)
    with pytest.raises(UsageError, match="NAVIGATOR_TIME_SCALE"):
        time_scale(None)
    with pytest.raises(UsageError, match="--time-scale"):
        time_scale(-0.5)


def test_a_table_within_a_table_is_described_like_any(tmp_path: Path) -> None:
    shown = describe(
        load_settings(write(tmp_path, '[swap]\nstrategy = "systemd"\n[swap.systemd]\nload_seconds = 60\n'))
    )
    assert shown["swap"]["systemd"]["load_seconds"] == {"value": 60.0, "from": "file"}
    assert shown["swap"]["systemd"]["scope"] == {"value": "user", "from": "default"}
    assert shown["swap"]["strategy"] == {"value": "systemd", "from": "file"}
