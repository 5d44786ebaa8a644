"""`navigator mcp` as its clients see it: what it answers, and everything that it must not let them do."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navigator.config.paths import StatePaths
from navigator.mcp import tools
from navigator.mcp.server import MOST_BYTES, McpServer
from navigator.mcp.tools import Tools
from navigator.model.errors import NavigatorError
from tests.cli.conftest import REHEARSAL, Command
from tests.git.world import fingerprint, git, make_repo
from tests.mcp.client import McpClient, connected

pytestmark = pytest.mark.xdist_group("mcp")

TOOLS = ["list_projects", "queue_task", "review_ref", "list_proposals", "show_proposal", "status"]
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "tr0ub4dor-and-3"


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A project whose two tasks wait for the developer, with secrets in files that no model is shown and in a commit."""
    folder = tmp_path_factory.mktemp("mcp")
    config = folder / "config.toml"
    config.write_text(REHEARSAL)
    made = Command(folder / "state", config)
    repo = make_repo(folder / "thing")
    (repo / ".env").write_text(f"DB_PASSWORD={PASSWORD}\n")
    (repo / "notes.md").write_text("# Notes\n\n- one \n- two\n")
    (repo / "keys.txt").write_text(f"The key is {SECRET}, the password {PASSWORD}.\n")
    git(repo, "add", "-Af")
    git(repo, "commit", "-qm", f"Note \x1b[31m{SECRET}")
    made.run("project", "add", str(repo))
    text = f"Clean up trailing whitespace in notes.md, not {SECRET} or {PASSWORD}"
    made.run("task", "add", "thing", text, "--kind", "docs")
    made.run("review", "thing", "HEAD")
    made.run("run", "--until", "idle", "--time-scale", "0", code=None)
    return made


@pytest.fixture(scope="module")
def client(command: Command) -> Iterator[McpClient]:
    """One connection for all who write nothing that another one reads."""
    with connected(command) as made:
        yield made


def test_a_client_queues_and_reads(command: Command, client: McpClient) -> None:
    listed = client.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in listed] == TOOLS
    assert all(tool["inputSchema"]["type"] == "object" for tool in listed)
    assert "$ref" not in json.dumps(listed)
    (project,) = client.call("list_projects")["projects"]
    assert project["name"] == "thing"
    (queued,) = client.call("queue_task", project="thing", text="Say hello.", kind="docs", files=["new.md"])[
        "tasks"
    ]
    assert queued["state"] == "queued"
    (review,) = client.call("review_ref", project="thing", ref="HEAD~0")["reviews"]
    listed = client.call("list_proposals", project="thing")["proposals"]
    assert (review["proposal"], review["state"]) in {(one["id"], one["task_state"]) for one in listed}
    shown = client.call("show_proposal", id=listed[0]["id"])
    assert shown["proposal"]["review"]["verdict"] in ("APPROVE", "REVISE", "UNREVIEWED")
    assert shown["diff"].startswith("### ")
    assert client.call("status")["tasks"]["queued"] >= 1
    assert client.ask("ping")["result"] == {}
    assert queued["id"] in {task["id"] for task in command.json("task", "list")["tasks"]}


def test_read_only_offers_nothing_that_queues(command: Command) -> None:
    with connected(command, "--read-only") as client:
        names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
        assert names == [name for name in TOOLS if name not in ("queue_task", "review_ref")]
        assert "no tool" in client.refused("queue_task", project="thing", text="x")


ATTEMPTS: list[tuple[str, dict[str, Any]]] = [
    ("approve", {"ids": ["P1"]}),
    ("approve", {"id": "P1", "yes": True}),
    ("land", {"id": "P1"}),
    ("task.add", {"tasks": []}),
    ("project.set", {"project": "thing", "check": "touch /tmp/x"}),
    ("reject", {"ids": ["P1"]}),
    ("undo", {"ids": ["P1"]}),
    ("conduct", {"do": "swap", "role": "reviewer"}),
    ("conduct", {"do": "stop"}),
    ("queue_task", {"project": "thing", "text": "x", "landing": "current"}),
    ("queue_task", {"project": "thing", "text": "x", "approve": True}),
    ("queue_task", {"project": "../thing", "text": "x"}),
    ("queue_task", {"project": "/etc", "text": "x"}),
    ("queue_task", {"project": "thing", "text": "x", "files": ["../../etc/passwd"]}),
    ("queue_task", {"project": "thing", "text": "x", "files": ["/etc/passwd"]}),
    ("queue_task", {"project": "thing", "text": "x", "kind": "approve"}),
    ("queue_task", {"project": "thing", "text": ["--kind", "x"]}),
    ("queue_task", {"project": "thing", "text": " " * 50}),
    ("queue_task", {"project": "thing", "text": "x" * 20_001}),
    ("review_ref", {"project": "thing", "ref": "--upload-pack=touch /tmp/x"}),
    ("review_ref", {"project": "thing", "ref": "HEAD:../../etc/passwd"}),
    ("review_ref", {"project": "thing", "ref": "$(touch /tmp/x)"}),
    ("review_ref", {"project": "thing", "ref": ""}),
    ("review_ref", {"project": "thing", "ref": "HEAD", "branch": "main"}),
    ("show_proposal", {"id": "../../state/navigator.db"}),
    ("show_proposal", {"id": "P1' OR 1=1 --"}),
    ("show_proposal", {"id": 1}),
    ("queue_task", {"project": "thing", "text": "x", "files": [f"no-such-{n}" for n in range(20_000)]}),
    ("queue_task", {"project": "thing", "text": "x", "files": ["new.md"] * 201}),
    ("queue_task", {"project": "thing", "text": "nul \0"}),
    ("queue_task", {"project": "thing", "text": "half \ud800"}),
    ("review_ref", {"project": "thing", "ref": "HEAD\0"}),
    ("review_ref", {"project": "\udfff", "ref": "HEAD"}),
    ("show_proposal", {"id": "P" * 200_000}),
    ("show_proposal", {"id": "P1\0"}),
    ("list_proposals", {"state": "open; DROP TABLE tasks"}),
    ("status", {"verbose": True}),
    ("__class__", {}),
]


def test_no_client_decides_lands_sets_or_escapes(command: Command, client: McpClient) -> None:
    """Some forty attempts, each refused with words; afterwards everything is as it was."""
    repo = Path(command.json("project", "list")["projects"][0]["path"])

    def everything() -> dict[str, Any]:
        return {
            "projects": command.json("project", "list"),
            "tasks": command.json("task", "list"),
            "proposals": command.json("proposals"),
            "settings": command.config.read_bytes(),
            "repository": fingerprint(repo),
        }

    before = everything()
    for tool, arguments in ATTEMPTS:
        words = client.refused(tool, **arguments)
        assert len(words) > 10, tool
        assert not words.startswith("Navigator failed"), (tool, arguments)
    for method in ("approve", "settings/set", "tools/approve", "resources/read", "completion/complete"):
        assert client.ask(method, id="P1")["error"]["code"] == -32601
    assert everything() == before


def test_an_agent_in_a_loop_does_not_fill_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "MOST_QUEUED", 2)
    connection = Tools(StatePaths(tmp_path).ensure())
    for words in ("no project", "no project", "has queued 2 tasks already"):
        with pytest.raises(NavigatorError, match=words):
            connection.call("queue_task", {"project": "nowhere", "text": "again"})
    assert connection.call("list_projects", {}) == {"projects": []}


def test_secrets_and_control_characters_stay_here(client: McpClient) -> None:
    told = [client.call("list_projects"), client.call("status"), client.call("list_proposals")]
    told += [client.call("show_proposal", id=one["id"]) for one in told[2]["proposals"]]
    refusals = [
        client.refused("show_proposal", id=SECRET),
        client.refused("review_ref", project=SECRET, ref=SECRET),
    ]
    text = json.dumps([told, refusals], ensure_ascii=False)
    assert "[redacted" in text
    assert SECRET not in text
    assert PASSWORD not in text
    assert "\\u001b" not in text


def test_what_is_no_message_is_refused_and_the_next_one_answered(client: McpClient) -> None:
    for line, code in (
        (b"{", -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b"[]\n", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": [], "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}\n', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "x": "' + b"y" * MOST_BYTES + b'"}\n', -32600),
        (b"\xff\xfe\n", -32700),
    ):
        client.send(line if line.endswith(b"\n") else line + b"\n")
        assert client.read()["error"]["code"] == code
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    client.send({"jsonrpc": "2.0", "id": 9, "result": {}})
    client.send(b"\n")
    assert client.ask("ping")["result"] == {}


JSON = st.none() | st.integers() | st.text(max_size=9) | st.lists(st.integers(), max_size=2)
OBJECTS = st.dictionaries(st.sampled_from(["id", "project", "state", "text", "x"]), JSON, max_size=3)
MESSAGES = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "method": st.sampled_from(["initialize", "ping", "tools/list", "tools/call", "x"]),
    },
    optional={
        "id": JSON,
        "params": JSON | st.fixed_dictionaries({"name": st.sampled_from(TOOLS), "arguments": JSON | OBJECTS}),
    },
)


@settings(max_examples=12)
@given(
    lines=st.lists(MESSAGES.map(lambda one: json.dumps(one).encode()) | st.binary(max_size=60), max_size=5)
)
def test_any_input_gets_answers_of_the_protocol(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    paths = StatePaths(tmp_path_factory.getbasetemp() / "any-input").ensure()
    out = io.BytesIO()
    McpServer(Tools(paths)).serve(io.BytesIO(b"\n".join(line.replace(b"\n", b" ") for line in lines)), out)
    for line in out.getvalue().splitlines():
        answer = json.loads(line)
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) != ("error" in answer)
        if "error" in answer:
            assert answer["error"]["code"] != -32603
