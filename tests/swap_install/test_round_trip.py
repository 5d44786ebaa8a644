"""`navigator swap install` and back, as a user runs it: shown, asked, written, recognised, removed."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from tests.swap_install.support import Home, below, profile_with

PROFILE = ("--profile", "qwen3.5-96gb")
GENERATOR = "navigator-generator.service"


def test_a_dry_run_shows_everything_but_the_keys_and_writes_nothing(home: Home, sglang: Path) -> None:
    done = home.run(*PROFILE, "--sglang", str(sglang), "--dry-run")
    said = done.stdout
    assert 'strategy = "systemd"' in done.stderr and "reviewer.vram_mib = 86000" in said
    assert done.stderr.endswith("Nothing was written.\n")
    assert "+--quantization" not in said  # the flags stand in ExecStart's lines
    assert "+    --quantization moe_wna16 \\" in said
    assert f"+++ {home.keys / 'sglang.yaml'} (mode 0600)\n(keys, not shown)" in said
    assert below(home.config) == {}


def test_it_is_installed_found_again_and_removed(home: Home, sglang: Path) -> None:
    done = home.run(*PROFILE, "--sglang", str(sglang), "--yes", "--json")
    document = json.loads(done.stdout)
    assert document["written"] is True and document["sglang"]["version"] == "0.5.23"
    before = below(home.config)
    assert {Path(each["path"]) for each in document["files"]} == {home.config / name for name in before}
    assert stat.S_IMODE(home.keys.stat().st_mode) == 0o700
    for path in home.keys.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE((home.units / GENERATOR).stat().st_mode) == 0o644
    keys = [(home.keys / name).read_text().strip() for name in ("api.key", "admin.key")]
    assert len(set(keys)) == 2 and all(len(key) > 40 for key in keys)
    for key in keys:
        assert key in (home.keys / "sglang.yaml").read_text()
        assert key in (home.keys / "keys.env").read_text()
        assert key not in done.stdout + done.stderr
        for path in [*home.units.iterdir(), home.config / "navigator" / "swap.conf"]:
            assert key not in path.read_text()

    again = home.json(*PROFILE, "--sglang", str(sglang), "--yes")
    assert {each["action"] for each in again["files"]} == {"same"} and again["written"] is False
    assert below(home.config) == before

    home.command("forget", "--yes")
    assert below(home.config) == {} and not (home.config / "navigator").exists()


def test_a_changed_unit_is_neither_overwritten_nor_removed(home: Home, sglang: Path) -> None:
    home.run(*PROFILE, "--sglang", str(sglang), "--yes")
    unit, key = home.units / GENERATOR, home.keys / "api.key"
    unit.write_text(unit.read_text().replace("0.80", "0.70"))
    key.write_text("my-own-key-from-elsewhere\n")
    said = home.run(*PROFILE, "--sglang", str(sglang), "--dry-run").stdout
    assert "-    --mem-fraction-static 0.70 \\" in said and "+    --mem-fraction-static 0.80 \\" in said
    refused = home.run(*PROFILE, "--sglang", str(sglang), "--yes", code=1)
    assert f"{unit} was changed since Navigator wrote it" in refused.stderr
    rows = json.loads(home.command("forget", "--yes", "--json").stdout)["forgotten"]
    kept = [each for each in rows if not each["removed"]]
    assert [each["place"] for each in kept] == [str(unit), str(key)]
    assert "changed since Navigator wrote it" in kept[0]["reason"]
    assert list(home.units.iterdir()) == [unit] and key.read_text() == "my-own-key-from-elsewhere\n"


def test_a_file_of_somebody_else_is_left_alone(home: Home, sglang: Path) -> None:
    home.units.mkdir(parents=True)
    unit = home.units / GENERATOR
    unit.write_text("[Service]\nExecStart=/usr/bin/mine\n")
    refused = home.run(*PROFILE, "--sglang", str(sglang), "--yes", code=1)
    assert "was not written by Navigator" in refused.stderr
    assert list(home.units.iterdir()) == [unit]
    home.command("forget", "--yes")
    assert unit.read_text().startswith("[Service]")
    home.run(*PROFILE, "--sglang", str(sglang), "--yes", "--overwrite")
    assert "sglang.launch_server" in unit.read_text()


def test_a_value_that_the_parser_refuses_stops_it(home: Home, sglang: Path, tmp_path: Path) -> None:
    # The stand-in's --port is a number, as in SGLang; a profile's flag may override it with nonsense.
    text = (Path(__file__).parents[2] / "swap/profiles/qwen3-24gb.toml").read_text()
    own = tmp_path / "own.toml"
    own.write_text(text.replace('"--tool-call-parser" = "qwen25"', '"--port" = "many"'))
    refused = home.run("--profile", str(own), "--sglang", str(sglang), "--yes", code=3)
    assert "invalid int value" in refused.stderr
    assert below(home.config) == {}


def test_wrong_use_says_what_to_do(home: Home, sglang: Path) -> None:
    for words, told in ((("--profile", "absent"), "There is no profile absent"), ((), "No profile is named")):
        assert told in home.run("--sglang", str(sglang), *words, code=2).stderr
    refused = home.run(*PROFILE, "--yes", code=3)
    assert "No SGLang was found" in refused.stderr and "[serve]" in refused.stderr


def test_local_folders_and_sleep(home: Home, sglang: Path, tmp_path: Path) -> None:
    own = profile_with(tmp_path, "reviewer", "/models/my $trange 100%")
    said = home.run("--profile", str(own), "--sglang", str(sglang), "--dry-run", "--sleep").stdout
    assert '--model-path "/models/my $$trange 100%%"' in said
    assert said.count("--enable-memory-saver") == 2
    assert "Conflicts=" not in said
