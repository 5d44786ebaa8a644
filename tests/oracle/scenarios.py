"""One repository, a task for each way that a change can go, and models that say what a task's name asks for.

An answer depends on the prompt alone, never on what was asked before: a session that is killed and begins again is told the
same. Task `revise_once` changes the line `revise_once = 0` of `revise_once.py`, first to 1, then to 2.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.engine.conductor import Conductor, RunOptions
from navigator.model.models import Proposal, Task
from navigator.model.states import ProposalState
from tests.journey.room import text_of
from tests.journey.scripted_models import Messages, Models, Refusal, approval, objection
from tests.journey.support import Desk, commits_of_proposals, git, make_repository
from tests.records import calls_of, reviews_of

NAMES = (
    *("approved", "revised_once", "revised_always", "kept_as_it_was", "overruled", "unread", "needs_nothing"),
    *("never_applies", "repaired", "looked", "fails_tests", "mended", "refused", "sent_back", "rejected"),
    *("cancelled", "escalated", "divided"),
)
REPORT, LINKED, TWICE, WRONG, FINE = "reported", "linked", "written_twice", "wrong_commit", "fine_commit"
CHANGED = (*NAMES, LINKED, TWICE)
CHECK = "#!/bin/sh\n! grep -q '= 13' *.py\n"
FILLER = "".join(f"# {number}\n" for number in range(30))
NOTE = "Make it seventy."
TOLD = ("proposal_added", "review_added", "decision_added", "landing_set")


def source(name: str) -> bytes:
    """A file of one task, with a second line far from the first."""
    return f"{name} = 0\n{FILLER}last = 0\n".encode()


def _edit(name: str, value: int, old: str = "") -> str:
    blocks = [(old or f"{name} = 0", f"{name} = {value}")]
    if name == "divided":
        blocks.append(("last = 0", "last = 1"))
    return "\n".join(
        f"{name}.py\n<<<<<<< SEARCH\n{before}\n=======\n{after}\n>>>>>>> REPLACE" for before, after in blocks
    )


def _name(messages: Messages) -> str:
    (name,) = set(re.findall(r"^Do (\w+)\.", text_of(messages), re.M))
    return str(name)


def write(messages: Messages) -> str | Refusal:
    """What the generator says."""
    text, name = text_of(messages), _name(messages)
    again = any(message["role"] == "assistant" for message in messages)
    if name == REPORT:
        return "# Report\n\nIt is made of many files.\n"
    if name == "refused":
        return Refusal(400, "this request cannot be done")
    if name == "looked" and not again:
        return f"<<<<<<< LOOK\nsearch last\nread {name}.py:1-9\n>>>>>>> LOOK\n"
    if name == "needs_nothing":
        return "NO_CHANGE: it is there already"
    if name == "never_applies" or (name == "repaired" and not again):
        return _edit(name, 1, old="a line that is not there")
    if name == "fails_tests" or (name == "mended" and not again):
        return _edit(name, 13)
    if NOTE in text:
        return _edit(name, 70)
    if name == "divided" and "divided = 1" in text:  # the other part is in its base already
        return f"{name}.py\n<<<<<<< SEARCH\nlast = 0\n=======\nlast = 1\n>>>>>>> REPLACE\n"
    last = max((int(value) for value in re.findall(rf"\b{name} = (\d+)", text)), default=0)
    return _edit(name, 1 if name in ("kept_as_it_was", "repaired", "mended", "looked") else last + 1)


def read(messages: Messages) -> str:
    """What the reviewer says."""
    text = text_of(messages)
    shown = re.findall(r"\|\+(\w+) = (\d+)", text)
    name, value = next((pair for pair in reversed(shown) if pair[0] in (*CHANGED, WRONG, FINE)), ("", "0"))
    quote = f"{name} = {value}"
    if name == "unread":
        return "I like it."
    if name == "overruled":
        return approval(findings=[objection("a line that was never shown")], verdict="REVISE")
    objects = (name == "revised_once" and value == "1") or name in ("revised_always", "kept_as_it_was", WRONG)
    said: dict[str, Any] = {}
    if "[[begin earlier" in text:
        said["addressed"] = [{"finding": 1, "met": not objects, "why": "I looked."}]
    if objects:
        return approval(findings=[objection(quote)], verdict="REVISE", **said)
    return approval(**said)


class World:
    """A state folder in which every task is queued; sessions run in this process."""

    def __init__(self, folder: Path, models: Models) -> None:
        self.desk = Desk.make(folder / "desk", models.settings)
        files = {f"{name}.py": source(name) for name in CHANGED} | {"check.sh": CHECK.encode()}
        self.repository = make_repository(folder / "code", files)
        for name, value in ((FINE, 1), (WRONG, 2)):
            git(self.repository, "checkout", "-q", "-b", name, "main")
            (self.repository / f"{name}.py").write_text(f"{name} = {value}\n")
            git(self.repository, "add", "-A")
            git(self.repository, "commit", "-q", "-m", f"Do {name}.")
        git(self.repository, "checkout", "-q", "main")
        self.act("project.add", path=str(self.repository), name="code", landing="branch", check="sh check.sh")
        tasks = [self._task(name) for name in NAMES]
        tasks += [self._task(REPORT, kind="architecture", files=[])]
        self.act("task.add", tasks=tasks)
        self.act("task.add", tasks=[self._task(TWICE, variants=2)])
        self.act("task.add", tasks=[self._task(LINKED, after=[self.task("approved").id])])
        self.act("task.cancel", ids=[self.task("cancelled").id])
        for name in (FINE, WRONG):
            self.act("review.add", project="code", branch=name)

    @staticmethod
    def _task(name: str, **more: Any) -> dict[str, Any]:
        return {"project": "code", "text": f"Do {name}.", "files": [f"{name}.py"]} | more

    def act(self, op: str, **args: Any) -> dict[str, Any]:
        """One command, where no conductor runs."""
        with locked_dependencies(self.desk.paths) as world:
            return asyncio.run(perform(world, op, args))

    def work(self) -> None:
        """One session to its end."""
        with locked_dependencies(self.desk.paths) as world:

            async def session() -> None:
                await Conductor(world, RunOptions(until="idle")).run()

            asyncio.run(session())

    def decide(self) -> None:
        """What the developer does once everything waits."""
        for name, op, more in (
            ("approved", "approve", {}),
            ("revised_once", "approve", {}),
            ("overruled", "approve", {"confirm": ["overruled:review"]}),
            ("fails_tests", "approve", {}),
            ("sent_back", "send-back", {"note": NOTE}),
            ("rejected", "reject", {}),
            ("escalated", "escalate", {}),
        ):
            self.act(op, proposals=[{"id": self.proposal(name).id}], **more)
        self.act("split", proposal=self.proposal("divided").id, hunks=["H1"])

    def task(self, name: str) -> Task:
        """The newest task of a scenario."""
        with self.desk.reading() as store:
            return [task for task in store.tasks() if label(task) == name][-1]

    def proposal(self, name: str) -> Proposal:
        """The open proposal of a scenario's task."""
        with self.desk.reading() as store:
            return store.proposals({ProposalState.OPEN}, task_id=self.task(name).id)[-1]

    def ends(self) -> dict[str, Any]:
        """What became of each task, without ids, times and what their order decides."""
        with self.desk.reading() as store:
            tasks = store.tasks()
            events = store.events(0, limit=1_000_000)
            made = {task.id: store.proposals(task_id=task.id) for task in tasks}
            calls = {task.id: calls_of(store, task.id) for task in tasks}
            reviews = {one.id: reviews_of(store, one.id) for found in made.values() for one in found}
        names = [label(task) for task in tasks]
        found: dict[str, Any] = {}
        for number, task in enumerate(tasks):
            name = names[number] + "'" * names[:number].count(names[number])
            found[name] = {
                "state": task.state.value,
                "attempts": task.attempt + 1,
                "answers": _counted(call.purpose for call in calls[task.id] if call.outcome == "ok"),
                "proposals": [_proposal(one, reviews[one.id]) for one in made[task.id]],
                "events": _counted(one.kind for one in events if one.task_id == task.id and one.kind in TOLD),
            }
        return dict(sorted(found.items()))

    def landed(self) -> int:
        """How many commits on the developer's branches carry a proposal, each once."""
        commits = Counter(commits_of_proposals(self.repository))
        assert not commits or max(commits.values()) == 1
        return len(commits)


def label(task: Task) -> str:
    """The scenario of a task."""
    if task.ref:
        return task.ref
    return task.text.removeprefix("Do ").partition(".")[0]


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _proposal(one: Proposal, reviews: Any) -> dict[str, Any]:
    return {
        "at": f"attempt {one.attempt} round {one.round}",
        "state": one.state.value,
        "tree": one.tree,
        "failed": [check.name for check in one.failed_checks],
        "readings": [
            f"{review.role.value}: {review.verdict.value}, "
            f"{sum(finding.anchored for finding in review.findings)} of {len(review.findings)} findings anchored"
            for review in reviews
        ],
        "decision": one.decision.kind.value if one.decision else "",
        "landing": one.landing.state.value if one.landing else "",
    }


def speakers() -> Models:
    """Both models."""
    return Models(write, read)


def _read(end: dict[str, Any]) -> bool:
    return any(proposal["readings"] or proposal["decision"] for proposal in end["proposals"])


def unlike(found: dict[str, Any], recorded: dict[str, Any], *, answers: bool) -> dict[str, Any]:
    """The tasks whose ends differ, as (found, recorded).

    Args:
        answers: False after kills: how often models answered does not matter, since what was cut off may be asked again; nor
            whether of two variants with one change the second was put away before or after its proposal was kept.
    """
    kept = ["state", "attempts", "proposals", "events", *(["answers"] if answers else [])]
    if not answers:
        found = {
            name: end | {"proposals": [], "events": {}} if name == f"{TWICE}'" and not _read(end) else end
            for name, end in found.items()
        }
    return {
        name: (found.get(name), recorded.get(name))
        for name in sorted({*found, *recorded})
        if name not in found
        or name not in recorded
        or any(found[name][part] != recorded[name][part] for part in kept)
    }
