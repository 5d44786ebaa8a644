"""The MCP server: queue tasks, have changes reviewed and read what came of it. Nothing that decides."""
