"""What the GPU draws now, as a program of the user's prints it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from navigator.domain.errors import NavigatorError
from navigator.domain.text import safe_line
from navigator.process.runner import running

SECONDS = 5.0
"""The longest that one reading may take; then the program is ended with everything it started."""

MOST_BYTES = 4096
"""Output after which the program is ended: a few lines with a number each are expected."""

MOST_WATTS = 100_000.0

_NUMBER = re.compile(rb"[0-9]{1,6}(?:\.[0-9]{1,6})?")


class NoReading(NavigatorError):
    """The energy command gave no reading; the message says why."""

    code: ClassVar[str] = "no_reading"


def parse_watts(output: bytes) -> float:
    """The sum of the lines, each one number of watts.

    Raises:
        NoReading: anything else is printed, nothing, or more than any machine draws.
    """
    lines = [line.strip() for line in output.splitlines()]
    odd = next((line for line in lines if not _NUMBER.fullmatch(line)), None)
    if odd is not None or not lines:
        shown = repr(safe_line(odd.decode("utf-8", "replace"))[:60]) if odd else "nothing"
        raise NoReading(
            f"The energy command printed {shown}, not a number of watts per line.",
            hint="Correct command under [energy]; it must print numbers such as 231.50 and nothing else.",
        )
    watts = sum(float(line) for line in lines)
    if watts > MOST_WATTS:
        raise NoReading(
            f"The energy command printed {watts:g} W, more than a machine draws.",
            hint="Are these milliwatts? It must print watts.",
        )
    return watts


async def read_watts(command: Sequence[str], seconds: float = SECONDS) -> float:
    """Run the command once.

    Args:
        command: the program and its arguments, as in the settings.
        seconds: the longest it may take.

    Raises:
        NoReading: it cannot be started, fails, takes too long, or prints something else than watts.
    """
    program = shutil.which(Path(command[0]).expanduser())
    if program is None:
        raise NoReading(
            f"The energy command {safe_line(command[0])} does not exist or is not executable.",
            hint="Correct command under [energy], or remove it.",
        )
    try:
        ended = await running([program, *command[1:]], seconds, most=MOST_BYTES, tail=False)
    except TimeoutError:
        raise NoReading(
            f"The energy command did not end within {seconds:g} s and was stopped.",
            hint="It must print one reading and end.",
        ) from None
    except OSError as error:
        raise NoReading(
            f"The energy command could not be started: {error.strerror}.",
            hint="Correct command under [energy].",
        ) from error
    if ended.cut:
        raise NoReading(
            f"The energy command printed more than {MOST_BYTES} bytes and was stopped.",
            hint="It must print one number of watts per line and nothing else.",
        )
    if ended.code != 0:
        raise NoReading(
            f"The energy command ended with code {ended.code}. {ended.last_words}".strip(),
            hint="Run it in a terminal to see more.",
        )
    return parse_watts(ended.out)
