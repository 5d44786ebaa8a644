"""Items of the exam: how one is made, held and stored; and the cases of the first hour.

These are 24 changes of our own, before a project has a history to make items of. They are small and of well-known kinds: every
model does better on them than on its own work. So they are called synthetic wherever they show, and count only as long as there
is nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from navigator.git.facts import read_base
from navigator.git.hunks import commit_part
from navigator.git.private import FileChange, PrivateRepo
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import NavigatorError
from navigator.model.json_text import table
from navigator.model.models import Project, utc_now
from navigator.model.records import ExamItem, ExamTrial, PreparedProject, SourceCount
from navigator.model.secrets import Redactor
from navigator.model.states import ExamSource, TaskKind
from navigator.store.reads.reader import Reader

KEPT = "exam-"


def keep_name(origin: str) -> str:
    """The name under which the private repository keeps an item's tree and base."""
    return f"{KEPT}{hashlib.sha256(origin.encode()).hexdigest()[:24]}"


def head_of(project: Project) -> str:
    """The commit that the project's work starts from. Runs git."""
    return read_base(project.path, project.base)


def own_items(
    reader: Reader, project: Project, sources: Collection[ExamSource], *, retired: bool = False
) -> list[ExamItem]:
    """A project's items of some sources."""
    items = reader.exam_items(retired=retired)
    return [item for item in items if item.project_id == project.id and item.source in sources]


def make_item(
    redact: Redactor,
    project: Project,
    source: ExamSource,
    origin: str,
    *,
    faulty: bool,
    changed_lines: int,
    evidence: Mapping[str, Any],
    **fields: Any,
) -> ExamItem:
    """An item that is not stored yet; `fields` are those that have no default here. Words and evidence are redacted."""
    item: dict[str, Any] = {
        "project_id": project.id,
        "source": source,
        "faulty": faulty,
        "origin": origin,
        "kind": TaskKind.REFACTOR,
        "changed_lines": changed_lines,
        "evidence": redact.data(dict(evidence)),
        "created": utc_now(),
    }
    words = {name: redact(fields[name]) for name in ("text", "title") if name in fields}
    return ExamItem.model_validate(item | fields | words)


async def keep_items(
    deps: Dependencies,
    project: Project,
    private: PrivateRepo,
    items: Sequence[ExamItem] = (),
    trial: ExamTrial | None = None,
) -> bool:
    """Store a faulty item with its controls, and what was tried, in one transaction; whether the item was not there yet.

    Trees and bases are held before the rows name them: a crash between leaves only what `navigator gc` removes.
    """

    def hold() -> None:
        for item in items:
            private.pin_base(item.base_commit)
            private.keep(keep_name(item.origin), item.tree, item.base_commit)

    await deps.repositories.locked(project.id, hold)
    with deps.store.transaction() as tx:
        if trial is not None:
            tx.set_exam_trial(trial)
        added = bool(items) and tx.add_exam_item(items[0]) is not None
        for item in items[1:] if added else ():
            tx.add_exam_item(item)
    return added


async def prepared(
    deps: Dependencies,
    project: Project,
    sources: Collection[ExamSource],
    make: Callable[[], Awaitable[PreparedProject]],
) -> PreparedProject:
    """What `make` did, one preparation at a time. What keeps a project from having items is said in the result, not raised."""
    began = time.monotonic()
    deps.cpu_work.exams_wanted += 1
    try:
        async with deps.cpu_work.exam_lock:
            made = await make()
    except NavigatorError as error:
        return PreparedProject(project=project.name, problem=error.message, hint=error.hint)
    finally:
        deps.cpu_work.exams_wanted -= 1
    items = own_items(deps.reader, project, sources)
    faulty = sum(item.faulty for item in items)
    seconds = round(time.monotonic() - began, 1)
    return made.model_copy(update={"faulty": faulty, "clean": len(items) - faulty, "seconds": seconds})


def tell_progress(deps: Dependencies, project: Project, said: str) -> None:
    """Say how far a preparation is, to whoever follows it."""
    deps.on_live({"exam": {"project": project.name, "said": said}})


def drop_retired(private: PrivateRepo, items: Iterable[ExamItem]) -> int:
    """Let go of every item's tree in a repository but those of `items`; returns how many. `collect` frees the space."""
    wanted = {keep_name(item.origin) for item in items}
    gone = [name for name in private.kept() if name.startswith(KEPT) and name not in wanted]
    for name in gone:
        private.drop(name)
    return len(gone)


# The cases that come with Navigator.


def cases() -> list[dict[str, str]]:
    """Each case: name, path, title and text of the task; the file before, right and wrong; and a test that tells them apart."""
    read = table(__package__, "cases.toml")["case"]
    return [{name: value.lstrip("\n") for name, value in one.items()} for one in read]


async def prepare_bundled(deps: Dependencies, project: Project) -> PreparedProject:
    """Keep the cases as items, in the private repository of a project; nothing is run, and each is kept once."""

    async def make() -> PreparedProject:
        async with deps.repositories.opened(project) as private:
            pairs = await asyncio.to_thread(_make_pairs, deps.redact, private, project)
        kept = sum([2 * await keep_items(deps, project, private, pair) for pair in pairs])
        found = 2 * len(pairs)
        count = SourceCount(found=found, known=found - kept, tried=kept, kept=kept)
        return PreparedProject(
            project=project.name,
            sources={ExamSource.SYNTHETIC.value: count},
            ended="synthetic cases: they flatter every model",
        )

    return await prepared(deps, project, (ExamSource.SYNTHETIC,), make)


def _make_pairs(redact: Redactor, private: PrivateRepo, project: Project) -> list[list[ExamItem]]:
    """The pairs. Runs git."""
    head = head_of(project)
    private.pin_base(head)
    empty = private.git.run("hash-object", "-t", "tree", "-w", "--stdin", input=b"").text
    made = []
    for case in cases():
        before = private.write_tree(empty, {case["path"]: FileChange(case["before"].encode())})
        base = commit_part(private, before, head, "Base of a synthetic case\n")
        made.append([_bundled(redact, private, project, case, base, form) for form in ("wrong", "right")])
    return made


def _bundled(
    redact: Redactor, private: PrivateRepo, project: Project, case: dict[str, str], base: str, form: str
) -> ExamItem:
    tree = private.write_tree(base, {case["path"]: FileChange(case[form].encode())})
    lines = [case[name].splitlines() for name in ("wrong", "right")]
    place = next((at for at, (one, other) in enumerate(zip(*lines, strict=False), 1) if one != other), 1)
    faulty = form == "wrong"
    return make_item(
        redact,
        project,
        ExamSource.SYNTHETIC,
        f"synthetic:{case['name']}:{form}",
        faulty=faulty,
        changed_lines=sum(file.added + file.removed for file in private.diff(base, tree)),
        evidence={"test": case["test"]},
        text=case["text"],
        title=case["title"],
        kind=TaskKind.IMPLEMENT,
        base_commit=base,
        tree=tree,
        **({"path": case["path"], "line": place, "end_line": place} if faulty else {}),
    )
