#!/usr/bin/env python3
"""Turn a list of issues into tasks.

gh issue list --label good-first-issue --json number,title,body | python3 examples/issues.py billing > tasks.toml
navigator task add --from tasks.toml

Reads `gh issue list --json number,title,body`; glab's and tea's lists have `iid` or `index`, and `description`, in their place.
Read the file before you queue it: whoever can open an issue writes what your model is told.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MOST = 20_000
"""Characters of a task's text at most."""


def task(project: str, issue: dict[str, Any]) -> str:
    """One issue as a `[[task]]` of the file that `navigator task add --from` reads."""
    number = issue.get("number") or issue.get("iid") or issue.get("index")
    body = (issue.get("body") or issue.get("description") or "").strip()
    text = f"{issue['title'].strip()} (#{number})\n\n{body}".strip()[:MOST]
    # JSON strings are TOML strings, but for the one control character that TOML wants escaped and JSON does not.
    said = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
    return f'[[task]]\nproject = {json.dumps(project)}\nkind = "fix"\ntext = {said}\n'


def main() -> None:
    """Print the file."""
    if len(sys.argv) != 2:
        sys.exit("usage: gh issue list --json number,title,body | issues.py PROJECT")
    print("\n".join(task(sys.argv[1], issue) for issue in json.load(sys.stdin)))


if __name__ == "__main__":
    main()
