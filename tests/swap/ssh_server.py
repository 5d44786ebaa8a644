"""A real sshd on the loopback, with keys of its own: it stands for the machine with the GPU."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.swap.desk import quiet_port

HOST = "gpu-box"
_PATIENCE = 20.0


def missing() -> str:
    """Why there can be none here; "" where there can."""
    for program in ("sshd", "ssh", "ssh-keygen"):
        if _find(program) is None:
            return "ssh: apt install openssh-server openssh-client"
    return ""


def _find(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


@dataclass
class SshServer:
    """An sshd that can be cut off and stopped. `bin` goes first on a client's PATH: there `ssh` knows its name and key."""

    folder: Path
    port: int
    variables: dict[str, str]
    process: subprocess.Popen[bytes] | None = None

    @property
    def bin(self) -> Path:
        """The folder with the client's `ssh`."""
        return self.folder / "bin"

    @property
    def client(self) -> dict[str, str]:
        """The environment of a client that knows it, with a home of its own."""
        return {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.folder)}

    def prepare(self) -> None:
        """Keys and settings of both ends."""
        keygen = _find("ssh-keygen")
        for name in ("host_key", "client_key"):
            subprocess.run(
                [str(keygen), "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)], check=True
            )
        shutil.copy(self.folder / "client_key.pub", self.folder / "authorized_keys")
        host_key = (self.folder / "host_key.pub").read_text().split()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key[0]} {host_key[1]}\n")
        pairs = " ".join(f'"{name}={value}"' for name, value in self.variables.items())
        (self.folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host_key\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
            f"MaxStartups 100\nMaxSessions 100\n" + (f"SetEnv {pairs}\n" if pairs else "")
        )
        (self.folder / "ssh_config").write_text(
            f"Host {HOST}\n  HostName 127.0.0.1\n  Port {self.port}\n  IdentityFile {self.folder}/client_key\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {self.folder}/known_hosts\n  StrictHostKeyChecking yes\n"
        )
        self.bin.mkdir()
        wrapper = self.bin / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec {_find("ssh")} -F {self.folder}/ssh_config "$@"\n')
        wrapper.chmod(0o755)

    def start(self) -> None:
        """Listen."""
        with (self.folder / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(_find("sshd")), "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _PATIENCE
        while b"Server listening" not in (self.folder / "sshd.log").read_bytes().rpartition(b"begin\n")[2]:
            assert self.process.poll() is None, (self.folder / "sshd.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def connections(self) -> int:
        """How many are open."""
        assert self.process is not None
        return len(_children(self.process.pid))

    def cut(self) -> int:
        """Kill every connection at once, as a cable that is pulled does; returns how many there were. Commands there live on."""
        assert self.process is not None
        connections = _children(self.process.pid)
        # With privilege separation each connection is two processes; the one that holds the socket may be either.
        for pid in [child for each in connections for child in (*_sshd(_children(each)), each)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(connections)

    def stop(self) -> None:
        """Cut everything and listen no more."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)  # nobody gets in between
        self.cut()
        self.process.kill()
        self.process.wait()
        with (self.folder / "sshd.log").open("ab") as log:
            log.write(b"begin\n")


def _children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = stat.read_text()
            if int(text.rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def _sshd(pids: list[int]) -> list[int]:
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().startswith("sshd"):
                found.append(pid)
    return found


@contextlib.contextmanager
def ssh_server(folder: Path, **variables: str) -> Iterator[SshServer]:
    """A server for as long as the block runs. `variables` are in the environment of every command there."""
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd started by root insists on it
    server = SshServer(folder, quiet_port(), variables)
    server.prepare()
    server.start()
    try:
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()
