#!/usr/bin/env python3
"""What happened overnight, from Navigator's JSON: who waits for you, what it cost, what to look at first.

python3 examples/morning_report.py            # uses the `navigator` on the PATH
NAVIGATOR="python3 -m navigator" python3 examples/morning_report.py
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import Any

NAVIGATOR = shlex.split(os.environ.get("NAVIGATOR", "navigator"))


def ask(*words: str) -> Any:
    """Run a command with --json and return its one JSON document."""
    done = subprocess.run([*NAVIGATOR, *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Print the report."""
    status = ask("status")
    proposals = ask("proposals", "--state", "open")["proposals"]
    rate = ask("stats", "reviewer")
    swaps = ask("stats", "cost")["swaps"]["directions"]

    if rate["rehearsal"]:
        print("REHEARSAL: every figure is simulated.")
    print(f"{status['waiting']} wait for you in {status['projects']} projects.")
    first = sorted(proposals, key=lambda p: (p["review"] or {}).get("verdict") == "APPROVE")
    for proposal in first[:10]:
        verdict = (proposal["review"] or {}).get("verdict", "not reviewed")
        print(f"  {proposal['id']:>5} {verdict:<12} {proposal['project']:<16} {proposal['title']}")
    for row in rate["revise_rate"]["rows"]:
        low, high = 100 * row["low"], 100 * row["high"]
        print(f"revise rate: {100 * row['rate']:.0f}% [{low:.0f}-{high:.0f}], n {row['n']} {row['note']}")
    for row in swaps:
        if row["seconds"]:
            origin = row["from_role"] or "nothing"
            print(
                f"swap {origin} -> {row['to_role']}: median {row['seconds']['median']:.1f} s, n {row['seconds']['n']}"
            )


if __name__ == "__main__":
    main()
