"""The exam of the first hour: 24 changes of our own, before a project has a history to make items of.

They are small and of well-known kinds: every model does better on them than on its own work. So they are called synthetic
wherever they show, and count only as long as there is nothing else.
"""

from __future__ import annotations

import asyncio
from importlib import resources

from navigator.exam.making import keep_name
from navigator.git.facts import WORKTREE, read_base
from navigator.git.hunks import commit_part
from navigator.git.private import FileChange, PrivateRepo
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import NavigatorError
from navigator.model.json_text import read_toml
from navigator.model.models import Project, utc_now
from navigator.model.records import ExamItem, PreparedProject, SourceCount
from navigator.model.states import Complexity, ExamSource, TaskKind


def cases() -> list[dict[str, str]]:
    """Each case: name, path, title and text of the task; the file before, right and wrong; and a test that tells them apart."""
    text = resources.files("navigator.exam").joinpath("data", "cases.toml").read_text(encoding="utf-8")
    return [{name: value.lstrip("\n") for name, value in one.items()} for one in read_toml(text)["case"]]


async def prepare_bundled(deps: Dependencies, project: Project) -> PreparedProject:
    """Keep the cases as items, in the private repository of a project; nothing is run, and each is kept once."""
    deps.exams_wanted += 1
    try:
        async with deps.exam_lock, deps.project_lock(project.id):
            private = await asyncio.to_thread(deps.private, project)
            made = await asyncio.to_thread(_make_pairs, private, project)
        with deps.store.transaction() as tx:
            kept = 0
            for wrong, right in made:
                number = tx.add_exam_item(wrong)
                if number is not None:
                    kept += 2
                    tx.add_exam_item(right.model_copy(update={"control_of": number}))
    except NavigatorError as error:
        return PreparedProject(project=project.name, problem=error.message, hint=error.hint)
    finally:
        deps.exams_wanted -= 1
    items = [item for item in deps.reader.exam_items() if item.project_id == project.id]
    found = 2 * len(made)
    return PreparedProject(
        project=project.name,
        sources={
            ExamSource.SYNTHETIC.value: SourceCount(found=found, known=found - kept, tried=kept, kept=kept)
        },
        faulty=sum(item.faulty for item in items),
        clean=sum(not item.faulty for item in items),
        ended="synthetic cases: they flatter every model",
    )


def _make_pairs(private: PrivateRepo, project: Project) -> list[tuple[ExamItem, ExamItem]]:
    """The pairs, their trees kept. Runs git."""
    head = read_base(project.path, "" if project.base == WORKTREE else project.base)
    private.pin_base(head)
    empty = private.git.run("hash-object", "-t", "tree", "-w", "--stdin", input=b"").text
    made = []
    for case in cases():
        before = private.write_tree(empty, {case["path"]: FileChange(case["before"].encode())})
        base = commit_part(private, before, head, "Base of a synthetic case\n")
        wrong, right = (_item(private, project, case, base, form) for form in ("wrong", "right"))
        made.append((wrong, right))
    return made


def _item(private: PrivateRepo, project: Project, case: dict[str, str], base: str, form: str) -> ExamItem:
    tree = private.write_tree(base, {case["path"]: FileChange(case[form].encode())})
    origin = f"synthetic:{case['name']}:{form}"
    private.keep(keep_name(origin), tree, base)
    faulty = form == "wrong"
    lines = [case[name].splitlines() for name in ("wrong", "right")]
    place = next((at for at, (one, other) in enumerate(zip(*lines, strict=False), 1) if one != other), 1)
    changed = sum(file.added + file.removed for file in private.diff(base, tree))
    return ExamItem(
        project_id=project.id,
        source=ExamSource.SYNTHETIC,
        faulty=faulty,
        origin=origin,
        text=case["text"],
        kind=TaskKind.IMPLEMENT,
        complexity=Complexity.SIMPLE,
        base_commit=base,
        tree=tree,
        title=case["title"],
        path=case["path"] if faulty else "",
        line=place if faulty else 0,
        end_line=place if faulty else 0,
        changed_lines=changed,
        evidence={"test": case["test"]},
        created=utc_now(),
    )
