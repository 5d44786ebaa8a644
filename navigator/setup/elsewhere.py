"""Another machine that an installation is on, by ssh. Files and programs, nothing more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from navigator.model.errors import MissingPart
from navigator.process.runner import Ended
from navigator.swap.machine import HERE, Machine

if TYPE_CHECKING:
    from navigator.config.settings import Settings
    from navigator.swap.ssh import SshConnection

_FILE_SECONDS = 30.0
_ABSENT = 44
"""An exit code of our own scripts: the file is not there."""

_READ = f'[[ -e $1 ]] || exit {_ABSENT}; stat -L -c %a -- "$1" && cat -- "$1"'
_WRITE = (
    '(umask "$3"; mkdir -p -- "${1%/*}") && umask 077 && new=$(mktemp "${1%/*}/.navigator.XXXXXX") && cat >"$new" '
    '&& chmod "$2" "$new" && sync "$new" && mv -f -- "$new" "$1"'
)


class There(Machine):
    """Another machine. Every method raises ConnectionLost where it cannot be reached."""

    def __init__(self, connection: SshConnection) -> None:
        self.host = connection.host
        self._connection = connection

    def run(
        self,
        words: Sequence[str],
        seconds: float,
        *,
        given: bytes = b"",
        variables: Mapping[str, str] | None = None,
    ) -> Ended | None:
        """As for this machine; a program that is not there ends with 127."""
        try:
            done = self._connection.call(words, seconds, given=given, variables=variables)
        except TimeoutError:
            return None
        return None if done.code == 127 else done

    def read(self, path: Path) -> tuple[bytes, int] | None:
        """As for this machine."""
        done = self._script(_READ, str(path))
        if done is not None and done.code == _ABSENT:
            return None
        if done is None or done.code:
            raise MissingPart(
                f"{path} on {self.host} cannot be read.", hint="Check its owner and mode on that machine."
            )
        mode, _, content = done.out.partition(b"\n")
        return content, int(mode, 8) & 0o777

    def write(self, path: Path, content: bytes, mode: int, folder_mode: int) -> None:
        """As for this machine; the owner is who ssh logs in as."""
        words = (str(path), f"{mode:o}", f"{0o777 & ~folder_mode:o}")
        self._succeeds(path, self._script(_WRITE, *words, given=content))

    def remove(self, path: Path) -> None:
        """As for this machine."""
        self._succeeds(
            path, self._script('if [[ -d $1 ]]; then rmdir -- "$1"; else rm -- "$1"; fi', str(path))
        )

    def home(self) -> tuple[Path, Path]:
        """The home of who ssh logs in as, and the folder of its configuration."""
        done = self._script('printf "%s\\n" "$HOME" "${XDG_CONFIG_HOME:-$HOME/.config}"')
        lines = done.out.decode(errors="replace").splitlines() if done is not None else []
        if len(lines) != 2 or not all(line.startswith("/") and line.isprintable() for line in lines):
            raise MissingPart(
                f"{self.host} does not say where its home is.", hint="Check HOME in its login shell."
            )
        return Path(lines[0]), Path(lines[1])

    def _script(self, script: str, *words: str, given: bytes = b"") -> Ended | None:
        return self.run(("bash", "-c", script, "navigator", *words), _FILE_SECONDS, given=given)

    def _succeeds(self, path: Path, done: Ended | None) -> None:
        if done is None or done.code:
            said = done.err.decode(errors="replace").strip().rpartition(":")[2].strip() if done else ""
            raise OSError(0, said or "no answer", f"{self.host}:{path}")


@contextmanager
def servers_machine(settings: Settings) -> Iterator[Machine]:
    """This machine, or the one of `[swap.systemd] host`; the conductor's connection to it is used while there is one.

    Raises:
        ConnectionLost: by the machine's methods, where it cannot be reached.
    """
    if not settings.swap.host:
        yield HERE
        return
    from navigator.swap.ssh import SshConnection
    from navigator.swap.strategies.systemd import forwards

    with closing(SshConnection(settings.swap.host, forwards(settings))) as connection:
        yield There(connection)
