"""The MCP server: queue tasks, have changes reviewed and read what came of it. Nothing that decides."""

TOOLS = {
    "list_projects": False,
    "queue_task": True,
    "review_ref": True,
    "list_proposals": False,
    "show_proposal": False,
    "status": False,
}
"""Methods of `tools.Tools` that a client may call, and whether they queue. Signatures say what they take, docstrings what for."""
