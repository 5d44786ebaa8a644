"""The built wheel, installed into an empty environment, runs the demo from another folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = out.glob("navigator_cascade-*.whl")
    return built


def test_data_files_are_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for prompt in (ROOT / "prompts").glob("*.md"):
        assert f"navigator/_data/prompts/{prompt.name}" in names
    for path in (ROOT / "swap").rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert f"navigator/_data/{path.relative_to(ROOT)}" in names
    for path in (ROOT / "navigator").rglob("*.toml"):
        assert str(path.relative_to(ROOT)) in names
    assert not any(name.startswith(("tests/", "prompts/", "swap/")) for name in names)


def test_the_installed_wheel_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "empty"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    libraries = sysconfig.get_paths(vars={"base": str(home), "platbase": str(home)})["purelib"]
    # Unpacking is what an installer does with a pure wheel. The dependencies are those of this environment, found through a
    # path file, so that nothing is fetched; this checkout's own editable path is not among them.
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(libraries)
    Path(libraries, "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NAVIGATOR", "PYTHON"))}
    script = "import navigator, sys; from navigator.cli.main import main; print(navigator.__file__, file=sys.stderr); main()"
    done = subprocess.run(
        [
            str(python),
            "-c",
            script,
            "demo",
            "--headless",
            "--json",
            "--projects",
            "2",
            "--tasks",
            "3",
            "--time-scale",
            "0",
            "--state",
            str(tmp_path / "state"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=kept,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert str(home) in done.stderr.splitlines()[0]
    document = json.loads(done.stdout)
    assert document["states"] == {"awaiting_approval": 3}
