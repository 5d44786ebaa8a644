"""`navigator swap install` and back, as a user runs it: shown, asked, written, recognised, removed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.swap_install.support import Home, fake_sglang

PROFILE = ("--profile", "qwen3.5-96gb")
GENERATOR = "navigator-generator.service"


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def installed(home: Home, sglang: Path, *words: str) -> None:
    home.run(*PROFILE, "--sglang", str(sglang), "--yes", *words)


def test_a_dry_run_shows_everything_but_the_keys_and_writes_nothing(home: Home, sglang: Path) -> None:
    done = home.run(*PROFILE, "--sglang", str(sglang), "--dry-run")
    said = done.stdout
    assert 'strategy = "systemd"' in done.stderr and "reviewer.vram_mib = 86000" in said
    assert done.stderr.endswith("Nothing was written.\n")
    assert "+--quantization" not in said  # the flags stand in ExecStart's lines
    assert "+    --quantization moe_wna16 \\" in said
    assert f"+++ {home.keys / 'sglang.yaml'} (mode 0600)\n(keys, not shown)" in said
    assert files_below(home.config) == {}


def test_no_terminal_to_ask_at_is_no_yes(home: Home, sglang: Path) -> None:
    refused = home.run(*PROFILE, "--sglang", str(sglang), code=2)
    assert "needs a terminal" in refused.stderr
    assert files_below(home.config) == {}


def test_what_is_written_and_with_which_modes(home: Home, sglang: Path) -> None:
    document = home.json(*PROFILE, "--sglang", str(sglang), "--yes")
    assert document["written"] is True
    assert document["sglang"]["version"] == "0.5.23"
    assert document["sglang"]["checked_by"] == "parser"
    written = {Path(each["path"]) for each in document["files"]}
    assert written == {path for path in home.config.rglob("*") if path.is_file()}
    assert stat.S_IMODE(home.keys.stat().st_mode) == 0o700
    for path in home.keys.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE((home.units / GENERATOR).stat().st_mode) == 0o644


def test_keys_stand_in_their_folder_only(home: Home, sglang: Path) -> None:
    done = home.run(*PROFILE, "--sglang", str(sglang), "--yes")
    keys = [(home.keys / name).read_text().strip() for name in ("api.key", "admin.key")]
    assert len(set(keys)) == 2 and all(len(key) > 40 for key in keys)
    for key in keys:
        assert key in (home.keys / "sglang.yaml").read_text()
        assert key in (home.keys / "keys.env").read_text()
        assert key not in done.stdout + done.stderr
        for path in [*home.units.iterdir(), home.config / "navigator" / "swap.conf"]:
            assert key not in path.read_text()


def test_a_second_time_changes_nothing_and_keeps_the_keys(home: Home, sglang: Path) -> None:
    installed(home, sglang)
    before = files_below(home.config)
    document = home.json(*PROFILE, "--sglang", str(sglang), "--yes")
    assert {each["action"] for each in document["files"]} == {"same"}
    assert document["written"] is False
    assert files_below(home.config) == before


def test_another_profile_is_shown_as_a_diff(home: Home, sglang: Path) -> None:
    installed(home, sglang)
    said = home.run("--profile", "qwen3-24gb", "--sglang", str(sglang), "--dry-run").stdout
    assert "-    --model-path Qwen/Qwen3.5-35B-A3B-GPTQ-Int4 \\" in said
    assert "+    --model-path Qwen/Qwen3-30B-A3B-GPTQ-Int4 \\" in said
    assert "keys, not shown" not in said


def test_one_lost_key_is_recreated_and_the_other_kept(home: Home, sglang: Path) -> None:
    installed(home, sglang)
    kept = (home.keys / "api.key").read_text()
    lost = (home.keys / "admin.key").read_text()
    (home.keys / "admin.key").unlink()
    installed(home, sglang)
    assert (home.keys / "api.key").read_text() == kept
    assert (home.keys / "admin.key").read_text() not in ("", lost)


def test_a_mode_that_grew_wide_is_narrowed(home: Home, sglang: Path) -> None:
    installed(home, sglang)
    (home.keys / "api.key").chmod(0o644)
    installed(home, sglang)
    assert stat.S_IMODE((home.keys / "api.key").stat().st_mode) == 0o600


def test_uninstall_leaves_nothing(home: Home, sglang: Path) -> None:
    installed(home, sglang)
    home.run("--uninstall", "--yes")
    assert files_below(home.config) == {}
    assert not (home.config / "navigator").exists()
    assert "No installation found." in home.run("--uninstall", "--yes").stdout


def test_uninstall_as_a_dry_run_removes_nothing(home: Home, sglang: Path) -> None:
    installed(home, sglang)
    before = files_below(home.config)
    document = home.json("--uninstall", "--dry-run")
    assert {each["action"] for each in document["files"]} == {"removed"}
    assert files_below(home.config) == before


def test_a_changed_unit_is_neither_overwritten_nor_removed(home: Home, sglang: Path) -> None:
    installed(home, sglang)
    unit = home.units / GENERATOR
    unit.write_text(unit.read_text().replace("0.80", "0.70"))
    refused = home.run(*PROFILE, "--sglang", str(sglang), "--yes", code=1)
    assert f"{unit} was changed since Navigator wrote it" in refused.stderr
    document = home.json("--uninstall", "--yes", code=1)
    kept = [each for each in document["files"] if each["action"] == "kept"]
    assert [each["path"] for each in kept] == [str(unit)]
    assert "changed since Navigator wrote it" in kept[0]["reason"]
    assert list(home.units.iterdir()) == [unit]


def test_a_file_of_somebody_else_is_left_alone(home: Home, sglang: Path) -> None:
    home.units.mkdir(parents=True)
    unit = home.units / GENERATOR
    unit.write_text("[Service]\nExecStart=/usr/bin/mine\n")
    refused = home.run(*PROFILE, "--sglang", str(sglang), "--yes", code=1)
    assert "was not written by Navigator" in refused.stderr
    assert list(home.units.iterdir()) == [unit]
    home.run("--uninstall", "--yes", code=1)
    assert unit.read_text().startswith("[Service]")
    installed(home, sglang, "--overwrite")
    assert "sglang.launch_server" in unit.read_text()


def test_a_key_of_somebody_else_is_not_removed(home: Home, sglang: Path) -> None:
    installed(home, sglang)
    (home.keys / "api.key").write_text("my-own-key-from-elsewhere\n")
    document = home.json("--uninstall", "--yes", code=1)
    kept = [each["path"] for each in document["files"] if each["action"] == "kept"]
    assert kept == [str(home.keys / "api.key")]
    assert (home.keys / "api.key").read_text() == "my-own-key-from-elsewhere\n"


def test_without_sglang_it_says_how_to_name_one(home: Home) -> None:
    refused = home.run(*PROFILE, "--yes", code=3)
    assert (
        "No SGLang was found" in refused.stderr
        and "[serve]" in refused.stderr
        and "--for-version 0.5.9 or 0.5.23" in refused.stderr
    )


def test_for_a_version_the_packaged_list_is_asked(home: Home) -> None:
    document = home.json(*PROFILE, "--for-version", "0.5.9", "--dry-run")
    assert document["sglang"]["checked_by"] == "table"
    assert document["sglang"]["left_out"] == ["--engine-info-bootstrap-port", "--language-model-only"]
    unknown = home.run(*PROFILE, "--for-version", "0.4.0", "--dry-run", code=2)
    assert "no list of the flags of SGLang 0.4.0" in unknown.stderr


def test_flags_follow_the_version(home: Home, tmp_path: Path) -> None:
    old = fake_sglang(tmp_path / "old", "0.5.9")
    said = home.run(*PROFILE, "--sglang", str(old), "--dry-run")
    assert "--mamba-scheduler-strategy extra_buffer" in said.stdout
    assert "--mamba-radix-cache-strategy" not in said.stdout
    assert "--language-model-only" not in said.stdout
    assert "Left out, because this version does not have them" in said.stderr


def test_a_value_that_the_parser_refuses_stops_it(home: Home, sglang: Path, tmp_path: Path) -> None:
    # The stand-in's --port is a number, as in SGLang; a profile's flag may override it with nonsense.
    text = (Path(__file__).parents[2] / "swap/profiles/qwen3-24gb.toml").read_text()
    own = tmp_path / "own.toml"
    own.write_text(text.replace('"--tool-call-parser" = "qwen25"', '"--port" = "many"'))
    refused = home.run("--profile", str(own), "--sglang", str(sglang), "--yes", code=3)
    assert "invalid int value" in refused.stderr
    assert files_below(home.config) == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--profile", "absent"), "There is no profile absent"),
        ((*PROFILE, "--model", "reviewer"), "is not ROLE=PATH"),
        ((*PROFILE, "--service-user", "x"), "needs --system"),
        ((), "No profile is named"),
    ],
)
def test_wrong_use_says_what_to_do(home: Home, sglang: Path, words: tuple[str, ...], told: str) -> None:
    refused = home.run("--sglang", str(sglang), *words, code=2)
    assert told in refused.stderr


def test_local_folders_speculation_and_sleep(home: Home, sglang: Path) -> None:
    said = home.run(
        *(*PROFILE, "--sglang", str(sglang), "--dry-run", "--model", "reviewer=/models/my $trange 100%"),
        *("--speculate", "generator", "--sleep"),
    ).stdout
    assert '--model-path "/models/my $$trange 100%%"' in said
    assert said.count("--speculative-algorithm NEXTN") == 1
    assert said.count("--enable-memory-saver") == 2
    assert "Conflicts=" not in said


def test_the_system_scope_goes_below_etc_with_a_rule_for_its_user(
    home: Home, sglang: Path, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    said = home.run(
        *PROFILE,
        "--sglang",
        str(sglang),
        "--system",
        "--root",
        str(root),
        "--service-user",
        "root",
        "--dry-run",
    ).stdout
    assert f"+++ {root}/etc/systemd/system/{GENERATOR}" in said
    assert "+User=root" in said
    assert f"+++ {root}/etc/polkit-1/rules.d/50-navigator.rules" in said
    assert '+    var ours = ["navigator-generator.service", "navigator-reviewer.service"];' in said
    assert (
        "There is no user"
        in home.run(*PROFILE, "--system", "--service-user", 'a"b', "--dry-run", code=2).stderr
    )
