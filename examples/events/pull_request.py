#!/usr/bin/env python3
"""Push the branch of a landed proposal and open a pull request, with gh, glab or tea. In the settings:

[on]
landed = ["~/navigator/examples/events/pull_request.py", "gh"]

A branch holds the proposals of one batch: the first landing opens the request, later ones are pushed to it. Simulated
proposals are left alone.
"""

from __future__ import annotations

import json
import subprocess
import sys

CREATE = {
    "gh": "gh pr create --head={branch} --title={title} --body={body}",
    "glab": "glab mr create --yes --source-branch={branch} --title={title} --description={body}",
    "tea": "tea pulls create --head={branch} --title={title} --description={body}",
}


def main() -> int:
    """Returns the exit code; what is printed last goes to Navigator's log."""
    said = json.load(sys.stdin)
    if said["rehearsal"]:
        print("simulated: nothing is pushed")
        return 0
    proposal, folder = said["proposal"], said["project"]["path"]
    branch = proposal["branch"]
    if not branch.startswith("navigator/"):
        print(f"{branch} is a branch of yours: nothing is pushed")
        return 0
    subprocess.run(["git", "-C", folder, "push", "--quiet", "origin", f"{branch}:{branch}"], check=True)
    body = f"{proposal['summary']}\n\nReviewed by a local model: {proposal['verdict']}."
    words = {"branch": branch, "title": proposal["title"], "body": body}
    command = [part.format_map(words) for part in CREATE[sys.argv[1]].split()]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    print(made.stdout.strip() or made.stderr.strip())
    # A request for this branch that is open already is no failure: the push has updated it.
    return 0 if made.returncode == 0 or "already exists" in made.stderr else made.returncode


if __name__ == "__main__":
    sys.exit(main())
