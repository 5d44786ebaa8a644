"""Prints the flags of the SGLang in whose environment it is run, and what its parser says to command lines.

    echo '[["--port", "x"]]' | ~/sglang/bin/python list_flags.py

Standard input is a JSON list of command lines (the words after `sglang.launch_server`); the answer is one line:
`navigator-flags:` and JSON with `flags` (their names) and `errors` (one a command line, "" for none).
"""

import argparse
import contextlib
import io
import json
import sys

from sglang.srt.server_args import ServerArgs


def complaint(parser: argparse.ArgumentParser, words: list[str]) -> str:
    """What the parser says to a command line; nothing of it is carried out."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parser.parse_args(words)
    except SystemExit:
        lines = said.getvalue().strip().splitlines()
        return lines[-1] if lines else "refused"
    except (ValueError, TypeError, AttributeError, ImportError, argparse.ArgumentError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    """Ask the parser, answer on standard output."""
    parser = argparse.ArgumentParser(prog="sglang")
    ServerArgs.add_cli_args(parser)
    flags = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    errors = [complaint(parser, words) for words in json.load(sys.stdin)]
    sys.stdout.write("navigator-flags:" + json.dumps({"flags": flags, "errors": errors}) + "\n")


main()
