"""The whole way on real parts: installed by the command, started by systemd, swapped by the script, served by SGLang.

Only the GPU and the models are not real: SGLang runs on the CPU with tiny random weights (engines/README.md).
"""

from __future__ import annotations

import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.engines import sglang as engine
from tests.engines.llama import free_port
from tests.swap.user_systemd import UserSystemd
from tests.swap_install.support import DATA, Home

pytestmark = [pytest.mark.engines, pytest.mark.slow, pytest.mark.timeout(1200)]

_ROLE = """
[{role}]
model = "Qwen/tiny-{role}"
port = {port}
bootstrap_port = {bootstrap}
context_tokens = 4096
max_inflight = 4
weights_gb = 0.002
weights_source = "its file"
need_mib = 1
[{role}.shape]
source = "its config.json"
layers = 2
full_attention_layers = 2
kv_heads = 2
head_dim = 16
[{role}.environment]
SGLANG_USE_CPU_ENGINE = "1"
SGLANG_DISABLED_MODEL_ARCHS = "{unneeded}"
[{role}.flags]
"--device" = "cpu"
"--skip-server-warmup" = true
"--max-total-tokens" = "8192"
"--max-running-requests" = "8"
"--log-level" = "warning"
"""


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A pair of tiny models for a machine without a card."""
    unneeded = engine.environment(tmp_path)["SGLANG_DISABLED_MODEL_ARCHS"]
    roles = [
        _ROLE.format(role=role, port=free_port(), bootstrap=free_port(), unneeded=unneeded)
        for role in ("generator", "reviewer")
    ]
    path = tmp_path / "tiny.toml"
    path.write_text('about = "two tiny models on a CPU"\ngpu_mib = 1\n' + "".join(roles))
    return path


def test_install_swap_and_uninstall(
    manager: UserSystemd, real_sglang: Path, profile: Path, tmp_path: Path
) -> None:
    home = Home(manager.home, {**manager.environment, "NAVIGATOR_STATE": str(tmp_path / "state")})
    model = str(engine.home() / "tiny")
    try:
        document = home.json(
            *("--profile", str(profile), "--sglang", str(real_sglang), "--yes"),
            *("--model", f"generator={model}", "--model", f"reviewer={model}"),
        )
        assert document["written"] and document["reload"] == ""
        _swap(manager, home)
    finally:
        manager.forget()
    home.run("--uninstall", "--yes")
    assert not (home.config / "navigator").exists()


def _swap(manager: UserSystemd, home: Home) -> None:
    conf = dict(
        line.split(" = ", 1)
        for line in (home.config / "navigator" / "swap.conf").read_text().splitlines()
        if " = " in line
    )
    for role, other in (("generator", "reviewer"), ("reviewer", "generator")):
        done = script(manager, role)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "phase=verify state=done" in done.stdout
        assert manager.state(f"navigator-{role}.service") == "active"
        assert manager.state(f"navigator-{other}.service") == "inactive"
    url = conf["reviewer.url"]
    ordinary, admin = (
        Path(conf[f"reviewer.{kind}_key_file"]).read_text().strip() for kind in ("api", "admin")
    )
    assert status(f"{url}/v1/models", "") == 401
    assert status(f"{url}/v1/models", ordinary) == 200
    # What changes the server is the administrator's, whatever the ordinary key.
    assert status(f"{url}/abort_request", ordinary, b'{"rid": "none"}') == 401
    assert status(f"{url}/abort_request", admin, b'{"rid": "none"}') == 200
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode(errors="replace")
        except OSError:
            continue
        assert ordinary not in words and admin not in words, process


def script(manager: UserSystemd, role: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(DATA / "model-swap.sh"), "--user", role],
        capture_output=True,
        text=True,
        env=manager.environment,
        timeout=500,
    )


def status(url: str, key: str, body: bytes | None = None) -> int:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data=body, headers=headers), timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
