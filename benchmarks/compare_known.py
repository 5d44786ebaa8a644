"""Compare on replayed commits of real repositories, with simulated models whose quality is known.

    python benchmarks/compare_known.py [--tiny | --full] --repo CLONE [--check CMD] [--repo …] [--state DIR] [--json FILE]

Runs `navigator lab compare` as a user would: every task is a commit of a clone whose own tests fail without it, in the sandbox;
the models are two names on a local server, and a program swaps them. What is simulated is the models: each knows a task's
right change, writes it as often as `QUALITY` says, and otherwise adds a comment that changes nothing; as reader it finds that
comment as often as `QUALITY` says. So each arm's true rate is known, and the task's dice say which tasks it must solve.

Printed are the rates found, with their intervals, beside the true ones; whether the order is right; the swaps. Each `--check`
belongs to the `--repo` before it; the default is `python -m pytest -q`. `--state` keeps the folder, and goes on with one that
was kept. Without `--repo` it makes a small repository of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.size import sized
from navigator.exam.mining import is_code
from navigator.lab.comparing.journal import USUAL
from tests.journey.scripted_models import speaking
from tests.journey.support import Desk, git, make_repository
from tests.journey.swaps import asked, settings, swapping
from tests.lab.known_models import Change, Quality, known

QUALITY = Quality(0.4, 0.75, 0.9, {"generator": 0.3, "reviewer": 0.9})
NAMES = "rehearsal/known-writer", "rehearsal/known-reader"
CHECK = "python -m pytest -q -p no:cacheprovider"


class Checked(argparse.Action):
    """`--check` gives the repository that was named last its test command."""

    def __call__(self, parser: object, found: Any, value: Any, option: str | None = None) -> None:
        if not found.repo:
            raise argparse.ArgumentError(self, "name its --repo first")
        found.checks[found.repo[-1]] = value


def blob(clone: Path, commit: str, path: str) -> str | None:
    """A file of a commit; None where it has none."""
    found = subprocess.run(["git", "-C", clone, "show", f"{commit}:{path}"], capture_output=True, check=False)
    return found.stdout.decode() if found.returncode == 0 else None


def change_of(clone: Path, base: str, commit: str) -> Change:
    """What a commit changes in code, as the models know it."""
    paths = git(clone, "diff", "--name-only", "--no-renames", base, commit).splitlines()
    return {path: (blob(clone, base, path), blob(clone, commit, path)) for path in paths if is_code(path)}


def own_repository(folder: Path) -> Path:
    """A repository with fixes and their tests."""
    fixes = sized(1, 8, 8)
    wrong = {f"m{number}.py": b"def f(x):\n    return x\n" for number in range(fixes)}
    made = make_repository(folder, wrong | {"test_none.py": b"import unittest\n"})
    for number in range(fixes):
        (made / f"m{number}.py").write_text(f"def f(x):\n    return x + {number + 1}\n")
        (made / f"test_m{number}.py").write_text(
            f"import unittest\nfrom m{number} import f\n\n\nclass T(unittest.TestCase):\n"
            f"    def test_f(self):\n        self.assertEqual(f(3), {number + 4})\n"
        )
        git(made, "add", "--all")
        git(made, "commit", "--quiet", "-m", f"Fix m{number}.f()\n\nIt has to add {number + 1}.")
    return made


def called(desk: Desk, *words: str) -> dict[str, Any]:
    """`navigator WORDS --json`; its progress is shown as it comes, and it may take hours."""
    child = desk.start(*words, "--json", stderr=None)
    out, _ = child.communicate()
    if child.returncode:
        sys.exit(f"navigator {' '.join(words)} ended with {child.returncode}")
    document = json.loads(out)
    assert isinstance(document, dict)
    return document


def desk_in(folder: Path, clones: Mapping[str, Path], checks: Mapping[Path, str]) -> Desk:
    """A state folder with the clones as projects; the one that is kept there, if any."""
    if (folder / "state").exists():
        return Desk(folder / "state", folder / "config.toml")
    desk = Desk.make(folder, settings(folder, "http://127.0.0.1:9", NAMES))
    for name, clone in clones.items():
        desk.run("project", "add", str(clone), "--name", name, "--check", checks.get(clone, CHECK))
    return desk


def compared(folder: Path, clones: Mapping[str, Path], chosen: argparse.Namespace) -> dict[str, Any]:
    """The comparison's own document, with what the models' dice say of each task."""
    swapping(folder)
    desk = desk_in(folder, clones, chosen.checks)
    words = ["lab", "compare", *clones, "--name", "known", "--tasks", str(chosen.tasks)]
    words += ["--seconds", str(chosen.seconds)]
    tasks = called(desk, *words, "--dry-run")["tasks"]
    changes = {}
    for task in tasks:
        name, _, commit = task["key"].partition(":")
        changes[task["text"]] = change_of(clones[name], task["base"], commit)
    if len(changes) < len(tasks):
        sys.exit("two commits have the same message: leave one out with fewer --tasks")
    quality = replace(QUALITY, seed=chosen.seed)
    models = known(changes, quality)
    models.names, models.holds = NAMES, folder / "loaded"
    models.holds.write_text("generator")
    with speaking(models):
        desk.config.write_text(settings(folder, models.url, NAMES))
        done = called(desk, *words)
    assert not models.wrong, f"asked for while it was not loaded: {models.wrong}"
    texts = {task["key"]: task["text"] for task in tasks}
    dice = {arm: {key: quality.expected(arm, text) for key, text in texts.items()} for arm in USUAL}
    return done | {"dice": dice, "swaps_asked": len(asked(folder))}


def report(done: Mapping[str, Any]) -> list[str]:
    """What was found beside what is true."""
    lines = ["SIMULATED models of known quality; tasks, tests and sandbox are real.", ""]
    lines.append("arm           solved   by the dice   95 %         true rate   covered")
    rates = {arm: QUALITY.rate(arm) for arm in USUAL}
    for arm in done["arms"]:
        name, found = arm["name"], arm["passed"]
        low, high, dice = found["low"], found["high"], sum(done["dice"][name].values())
        covered = "yes" if low <= rates[name] <= high else "NO"
        lines.append(
            f"{name:12}  {found['k']:2} of {found['n']:2}   {dice:8}   {100 * low:4.0f} to {100 * high:3.0f} %"
            f"   {100 * rates[name]:6.1f} %   {covered}"
        )
    found_order = sorted(done["arms"], key=lambda arm: arm["passed"]["k"])
    order, right = [arm["name"] for arm in found_order], sorted(USUAL, key=rates.__getitem__)
    other = [
        task["key"]
        for task in done["tasks"]
        for arm, passed in task["passed"].items()
        if passed is not done["dice"][arm][task["key"]]
    ]
    lines += ["", f"order found: {' < '.join(order)} ({'right' if order == right else 'WRONG'})"]
    lines.append(f"results other than the dice: {len(other)} {' '.join(other)}".rstrip())
    lines.append(f"swaps: {done['swaps']} told, {done['swaps_asked']} made")
    for pair in done["pairs"]:
        true = 100 * (rates[pair["first"]] - rates[pair["second"]])
        lines.append(
            f"{pair['first']} - {pair['second']}: {100 * pair['difference']:+.0f} points, 95 % {100 * pair['low']:+.0f} to"
            f" {100 * pair['high']:+.0f}, true {true:+.1f}, p {pair['p_adjusted']:.2g} for all pairs"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repo", action="append", type=Path, default=[], metavar="CLONE")
    parser.add_argument("--check", action=Checked, metavar="CMD")
    parser.add_argument("--tasks", type=int, default=sized(1, 8, 45), help="of each repository")
    parser.add_argument(
        "--seconds", type=float, default=9000.0, help="for the test runs that prove the tasks of one"
    )
    parser.add_argument("--seed", default="")
    parser.add_argument("--state", type=Path)
    parser.add_argument("--json", type=Path)
    parser.set_defaults(checks={})
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (chosen.state or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        clones = {clone.name: clone for clone in chosen.repo}
        if not clones:
            clones["own"] = own_repository(folder)
            chosen.checks[clones["own"]] = "python3 -m unittest -q"
        done = compared(folder, clones, chosen)
    print("\n".join(report(done)))
    if chosen.json:
        chosen.json.write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main()
