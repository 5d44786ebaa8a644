"""The process that parses. Grammars are C code that reads what strangers wrote: a crash or a hang ends this process alone.

Standard input: `LANGUAGE LENGTH\\n` and that many bytes, over and over; LANGUAGE is `-` where there is no grammar, and begins
with `!` where the faults of the syntax are asked for. Standard output: the length of the answer in JSON, a line break, the
answer. A file that takes more processor time than its size allows is ended by the kernel: the alarm has no handler, since none
would run while C code loops.
"""

from __future__ import annotations

import json
import resource
import signal
import sys

from navigator.domain.secrets import secret_in
from navigator.workspace.context.repomap.extract import extract
from navigator.workspace.context.repomap.faults import faults

_MEMORY = 3 << 30
_SECONDS = 2.0
_BYTES_A_SECOND = 100_000
_LFS = b"version https://git-lfs.github.com/spec/"
_LOOKED_AT = 8_000


def answer(language: str, data: bytes) -> dict[str, object]:
    """The tags of one file, or `{"out": reason}` where it must not be shown; its faults where the language begins with `!`."""
    if language.startswith("!"):
        return faults(language[1:], data)
    if b"\0" in data[:_LOOKED_AT]:
        return {"out": "not text"}
    if data.startswith(_LFS):
        return {"out": "a pointer to a file in LFS"}
    reason = secret_in(data)
    return {"out": reason} if reason else extract(language, data)


def main() -> None:
    """Answer until standard input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ask, tell = sys.stdin.buffer, sys.stdout.buffer
    while head := ask.readline():
        language, _, length = head.decode("ascii").partition(" ")
        data = ask.read(int(length))
        signal.setitimer(signal.ITIMER_PROF, _SECONDS + len(data) / _BYTES_A_SECOND)
        found = json.dumps(answer("" if language == "-" else language, data)).encode("ascii")
        signal.setitimer(signal.ITIMER_PROF, 0)
        tell.write(b"%d\n%b" % (len(found), found))
        tell.flush()


if __name__ == "__main__":
    main()
