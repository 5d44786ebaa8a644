"""What is withheld from prompts is withheld on every other way out: test output, findings, the log, the database, exports."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from tests.journey.room import BAD, CODE_TESTED, GOOD, TESTS, Room, saying
from tests.journey.scripted_models import Messages, objection
from tests.sandbox.support import needs_sandbox

PASSWORD = "correct.horse-42"
BESIDE = "only-in-the-checkout-7"
TOKEN = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"

LEAKING = TESTS + (
    "\n\nclass Leaks(unittest.TestCase):\n    def test_leak(self):\n"
    "        import pathlib\n        print(pathlib.Path('.env').read_text())\n"
    f"        print('x' * 3000, {BESIDE[::-1]!r}[::-1], {TOKEN[::-1]!r}[::-1])\n"
    "        self.assertEqual(double(4), 8, pathlib.Path('.env').read_text())\n"
)


@pytest.mark.sandbox
@needs_sandbox
def test_a_planted_secret_leaves_by_no_way(bare: Room, caplog: pytest.LogCaptureFixture) -> None:
    room = bare

    def review(messages: Messages) -> str:
        found = objection("return 2 * x", message=f"The key {TOKEN} and {PASSWORD} are wrong here.")
        return json.dumps({"summary": TOKEN, "addressed": [], "findings": [found], "verdict": "REVISE"})

    room.models.write = saying(BAD, GOOD)
    room.models.read = review
    path = room.add(
        {"app.py": CODE_TESTED, "test_app.py": LEAKING, ".env": f"DB_PASSWORD={PASSWORD}\nMODE=production\n"}
    )
    (path / ".env.local").write_text(f"API_KEY={BESIDE}\n", encoding="utf-8")
    task = room.queue()
    room.work()

    prompts = json.dumps(room.models.written + room.models.read_by)
    assert "[redacted]" in prompts, (
        "the failing test's output, with its secrets replaced, went back to the writer"
    )
    exported = room.folder / "export"
    done = CliRunner().invoke(cli, ["export", str(exported)])
    assert done.exit_code == 0, done.output
    ways = {
        "prompts": prompts,
        "export": "".join(file.read_text(encoding="utf-8") for file in exported.iterdir()),
        "log": caplog.text,
        "proposal": room.proposal(task).model_dump_json(),
    }
    for way, text in ways.items():
        for secret in (PASSWORD, BESIDE, TOKEN):
            assert secret not in text, way
    # A model's answer is stored as it came, so that a restart can judge it again. Nothing else is.
    stored = "".join(
        file.read_bytes().decode("utf-8", "replace") for file in room.paths.root.glob("navigator.db*")
    )
    assert BESIDE not in stored
