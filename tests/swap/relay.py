"""What stands between a client and its sshd: it passes bytes on, slowly, cut off, or not at all."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator

_RESET = struct.pack("ii", 1, 0)


class Relay:
    """Listens on the loopback for one server.

    Attributes:
        manner: "pass", "silent" (takes connections and says nothing), "drip" (one byte a second from the server),
            "banner" (100 MB of lines before the server's first).
        passed: bytes from the server so far, over all connections.
        cut_at: close the connection once when `passed` reaches it.
        cuts: how often that was done.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.manner = "pass"
        self.passed, self.cuts = 0, 0
        self.cut_at: int | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Listen no more, and cut what is open."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not end an accept that waits
        self._listener.close()
        for each in list(self._open):
            _cut(each)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.add(client)
            if self.manner == "silent":
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open.add(server)
            threading.Thread(target=self._back, args=(server, client), daemon=True).start()
            threading.Thread(target=self._forth, args=(client, server), daemon=True).start()

    def _forth(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := client.recv(1 << 16):
                server.sendall(chunk)
        _cut(server)

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self.manner == "banner":
                for _ in range(100 << 10):
                    client.sendall(b"x" * 1022 + b"\r\n")
            while chunk := server.recv(1 if self.manner == "drip" else 1 << 16):
                if self.manner == "drip":
                    time.sleep(1)
                with self._lock:
                    self.passed += len(chunk)
                    due = self.cut_at is not None and self.passed >= self.cut_at
                    if due:
                        self.cut_at, self.cuts = None, self.cuts + 1
                if due:
                    break
                client.sendall(chunk)
        _cut(client)
        _cut(server)


def _cut(each: socket.socket) -> None:
    """Reset it, as a cable that is pulled does."""
    with contextlib.suppress(OSError):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        each.shutdown(socket.SHUT_RDWR)
    each.close()


@contextlib.contextmanager
def relayed(port: int) -> Iterator[Relay]:
    """A relay for as long as the block runs."""
    relay = Relay(port)
    try:
        yield relay
    finally:
        relay.close()
