"""Two units, their servers and the script that swaps them, as the tests use them."""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.swap.user_systemd import UserSystemd

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "swap" / "model-swap.sh"
STAND_IN = Path(__file__).with_name("stand_in.py")
UNITS = {"generator": "navigator-generator.service", "reviewer": "navigator-reviewer.service"}
MODELS = {"generator": "test/tiny-generator", "reviewer": "test/tiny-reviewer"}
_LINE = re.compile(r"swap phase=(\w+) state=(\w+) t=([0-9.]+)(?: detail=(.*))?")


def quiet_port() -> int:
    """A free port that the kernel gives to nobody unasked: between stop and start of a swap nobody holds it."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(first // 2, first)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@dataclass
class Swapped:
    """One run of the script: exit code, its lines, and what it told people."""

    code: int
    out: str
    err: str

    @property
    def _ends(self) -> list[re.Match[str]]:
        found = [_LINE.fullmatch(line) for line in self.out.splitlines()]
        return [each for each in found if each and each[2] != "begin"]

    @property
    def phases(self) -> list[tuple[str, str]]:
        """(phase, state), in order, without the begins."""
        return [(found[1], found[2]) for found in self._ends]

    @property
    def outcome(self) -> str:
        """The last line's word."""
        found = re.search(r"^swap outcome=(\w+)", self.out, re.MULTILINE)
        return found[1] if found else ""

    @property
    def failure(self) -> str:
        """The class of the first phase that failed."""
        found = re.search(r"state=fail t=\S+ detail=(\w+)", self.out)
        return found[1] if found else ""

    def detail(self, phase: str) -> str:
        """What the phase's last end said."""
        return next((found[4] or "" for found in reversed(self._ends) if found[1] == phase), "")


@dataclass
class Desk:
    """Units that start `stand_in.py`, with the flaws that a test asks for."""

    manager: UserSystemd
    folder: Path
    ports: dict[str, int] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shared = quiet_port()
        self.ports = dict.fromkeys(UNITS, shared)
        # No test waits for the defaults, which are meant for real models.
        waits = {"LOCK": 20, "DRAIN": 20, "STOP": 20, "KILL": 10, "RELEASE": 10, "LOAD": 30, "HEALTH": 30}
        self.settings = {f"{name}_SECONDS": str(seconds) for name, seconds in waits.items()}
        self.settings |= {"LOCK": str(self.folder / "lock"), "LOG": str(self.folder / "swap.log")}
        for role in UNITS:
            self.serve(role)

    def serve(self, role: str, *flaws: str, unit: str = "", model: str = "") -> None:
        """(Re)write the role's unit: its server, with these flaws; `unit` are more lines of [Service]."""
        served = ["--port", str(self.ports[role]), "--model", model or MODELS[role]]
        self.command(role, [sys.executable, str(STAND_IN), *served, *flaws], unit)

    def command(self, role: str, words: list[str], unit: str = "") -> None:
        """(Re)write the role's unit with any command."""
        other = next(name for key, name in UNITS.items() if key != role)
        quoted = " ".join('"' + word.replace("%", "%%").replace('"', '\\"') + '"' for word in words)
        self.manager.unit(
            UNITS[role],
            f"[Unit]\nConflicts={other}\nAfter={other}\n\n[Service]\nType=exec\nExecStart={quoted}\n"
            f"WorkingDirectory={self.folder}\nKillMode=mixed\nTimeoutStopSec=60\nRestart=no\n"
            f"StandardOutput=append:{self.log(role)}\nStandardError=append:{self.log(role)}\n{unit}\n",
        )

    def log(self, role: str) -> Path:
        """What the role's server printed."""
        return self.folder / f"{role}.log"

    def url(self, role: str) -> str:
        """Where the role answers."""
        return f"http://127.0.0.1:{self.ports[role]}"

    def environment(self, **settings: str) -> dict[str, str]:
        """The script's; keyword arguments are settings in capitals, without their prefix."""
        known = {f"{role.upper()}_URL": self.url(role) for role in UNITS}
        known |= {f"{role.upper()}_MODEL": MODELS[role] for role in UNITS}
        known |= self.settings | settings
        return self.manager.environment | {f"NAVIGATOR_SWAP_{key}": value for key, value in known.items()}

    def swap(self, *words: str, **settings: str) -> Swapped:
        """Run the script to its end."""
        return self.script(self.environment(**settings), *words)

    def script(self, environment: dict[str, str], *words: str) -> Swapped:
        """The same in this environment."""
        pipes = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
        done = subprocess.run(
            [str(SCRIPT), *words], env=environment, cwd=self.folder, timeout=280, check=False, **pipes
        )
        return Swapped(done.returncode, done.stdout, done.stderr)

    def begin(self, *words: str, stderr: int = subprocess.DEVNULL, **settings: str) -> subprocess.Popen[str]:
        """Start the script in a session of its own."""
        return subprocess.Popen(
            [str(SCRIPT), *words],
            env=self.environment(**settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def state(self, role: str) -> str:
        """The unit's ActiveState."""
        return self.manager.state(UNITS[role])

    def logged(self) -> list[dict[str, Any]]:
        """The script's own log."""
        return [json.loads(line) for line in (self.folder / "swap.log").read_text("utf-8").splitlines()]

    def get(self, role: str, path: str) -> tuple[int, Any]:
        """GET from the role's server: status and JSON, (0, None) where nobody answers."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.url(role)}{path}", timeout=30) as answer:
                raw = answer.read()
                return answer.status, json.loads(raw) if raw else None
        except urllib.error.HTTPError as error:
            return error.code, None
        except OSError:
            return 0, None

    def serves(self, role: str) -> bool:
        """Whether the role's model answers, asked without the script."""
        status, body = self.get(role, "/v1/models")
        return status == 200 and body["data"][0]["id"] == MODELS[role]

    def clear(self) -> None:
        """End the units; what the script left behind, too."""
        self.manager.forget()


def scripts_of(desk: Desk) -> list[bytes]:
    """Command lines of the swap scripts that run for this desk."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes()
            ours = str(desk.folder).encode() in (process / "environ").read_bytes()
            found += [words] if ours and b"model-swap.sh" in words else []
    return found


def wait_for(condition: Any, seconds: float = 30.0) -> None:
    """Until `condition()`; a test that waits in vain fails here."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
