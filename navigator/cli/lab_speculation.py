"""`navigator lab speculation`: the tables of an experiment, an experiment on a real server, and what speculation would bring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, Unpack

import click

from navigator.cli import output
from navigator.cli.command import AtLeast1, File, Share, Value, command, command_words
from navigator.lab.runs import lab_folder
from navigator.lab.speculation import tables
from navigator.lab.speculation.decide import Drafting, decide
from navigator.lab.speculation.fit import fit_words, measured
from navigator.lab.speculation.plan import read_plan
from navigator.lab.speculation.predict import BATCH_FORM_FLAW, Given, Prediction
from navigator.lab.speculation.predict import predict as predicted
from navigator.lab.speculation.rule import rules
from navigator.lab.speculation.runner import RANDOM, note_progress
from navigator.lab.speculation.runner import measure as measure_runs
from navigator.lab.speculation.runs import Run, RunTable, read_runs
from navigator.lab.speculation.tables import TableFault, findings
from navigator.model.errors import MissingPart, UsageError
from navigator.model.states import Role
from navigator.model.text import plural, safe_line

_SHOWN_BAD = 20


@command()
def analyze(file: File) -> None:
    """Make the tables of a speculation experiment from FILE (CSV or JSON lines, yours or anybody's), and check them.

    Exits with 1 if something in it is impossible.
    """
    table = read_runs(file)
    _require_counts(table)
    found = findings(table.runs)
    document = {
        "file": file,
        "columns": table.columns,
        "unused_columns": table.unused,
        "rows": len(table.runs) + len(table.bad),
        "used": len(table.runs),
        "bad_rows": table.bad,
        "suites": tables.suites(table.runs),
        "baselines": tables.baselines(table.runs),
        "speculation": tables.speculation(table.runs),
        "findings": found,
    }

    def text(_: object) -> None:
        _show_table(file, table)
        _findings(found)

    output.show(document, text)
    if any(finding.severity == "impossible" for finding in found):
        click.get_current_context().exit(1)


def _require_counts(table: RunTable) -> None:
    """Without them nothing says whether a speed-up can be.

    Raises:
        UsageError: runs speculate, and no column says what became of their drafts.
    """
    counted = any(run.tokens_per_round is not None for run in table.runs)
    if not counted and any(run.speculated for run in table.runs):
        unused = f" Not used: {', '.join(map(safe_line, table.unused))}." if table.unused else ""
        raise UsageError(
            "No column of this file says how many drafts were accepted.",
            hint=f"Rename columns to accepted and drafted, or to rate.{unused}",
        )


def _show_table(file: Path, table: RunTable) -> None:
    read = ", ".join(f"{name} from {column}" for name, column in table.columns.items() if name != column)
    output.say(
        f"{file}: {plural(len(table.runs), 'run')}"
        + (f", {plural(len(table.bad), 'row')} left out" if table.bad else "")
    )
    if read:
        output.prose(f"Read: {read}.")
    if table.unused:
        output.prose(f"Not used: {', '.join(map(safe_line, table.unused))}.")
    for bad in table.bad[:_SHOWN_BAD]:
        output.say(f"  line {bad.line} is left out: {bad.reason}")
    if len(table.bad) > _SHOWN_BAD:
        output.say(f"  and {len(table.bad) - _SHOWN_BAD} more; --json lists all")
    output.say()
    if suites := tables.suites(table.runs):
        parts = [(name, *map(_listed, row.values())) for name, row in suites.items()]
        output.table(parts, "suite", "n", "models", "drafts", "γ", "prompts", "lengths")
        output.say()
    output.table(
        tables.baselines(table.runs),
        ("no speculation", lambda row: row.target),
        ("prompts", lambda row: row.prompt or "all"),
        ("n", lambda row: row.n),
        ("tok/s", lambda row: f"{row.mean:.1f}"),
        ("sd", lambda row: _number(row.sd)),
    )
    output.say()
    tell_speculation(table.runs)
    output.say()


def tell_speculation(runs: Sequence[Run]) -> None:
    """What drafting yields and costs, as a table; and acceptance by position."""
    found = tables.speculation(runs)
    output.table(
        found,
        ("model", lambda row: row.target),
        ("draft", lambda row: row.draft),
        ("γ", lambda row: row.gamma),
        ("n", lambda row: row.n),
        ("starts", lambda row: row.blocks),
        ("tok/s", lambda row: f"{row.speed:.1f}"),
        ("sd", lambda row: _number(row.sd)),
        ("speed-up", lambda row: _number(row.speedup, 2, "×")),
        ("accepted ÷ drafted", lambda row: _number(row.rate, 3)),
        ("95 %", lambda row: "–" if row.rate_low is None else f"{row.rate_low:.3f}–{row.rate_high:.3f}"),
        ("α", lambda row: _number(row.alpha, 3)),
        ("τ", lambda row: _number(row.tokens_per_round)),
        ("round", lambda row: _number(row.round_ms, 2, " ms")),
        ("step", lambda row: _number(row.step_ms, 2, " ms")),
        ("same text", lambda row: f"{row.same_text.k} of {row.same_text.n}" if row.same_text.n else "–"),
    )
    for row in found:
        if row.positions:
            shares = ", ".join(f"{share:.2f}" for share in row.positions)
            output.say(f"{row.draft} γ = {row.gamma}: kept up to each position in {shares} of the rounds.")
    output.prose(
        "Speed-up is against the mean of all runs of the model without speculation. τ: tokens a round. Same text: runs with"
        " the very tokens that the prompt gets without speculation."
    )


def _findings(found: list[TableFault]) -> None:
    """Each kind with the arithmetic of its first case, and the names of the others."""
    kinds = dict.fromkeys((finding.severity, finding.kind) for finding in found)
    for severity, kind in kinds:
        same = [finding for finding in found if (finding.severity, finding.kind) == (severity, kind)]
        output.say(f"{severity}: {kind}", bold=True)
        output.prose(f"{same[0].subject}{_line_numbers(same[0].lines)}: {same[0].arithmetic}", "  ")
        others = Counter(finding.subject for finding in same[1:])
        if again := others.pop(same[0].subject, 0):
            output.say(f"  The same in {plural(again, 'more row')}.")
        if others:
            output.say(f"  The same for {'; '.join(others)}.")
        output.say()
    if not found:
        output.say("Nothing in it contradicts itself.")


def _line_numbers(lines: Sequence[int]) -> str:
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:4])) + (" …" if len(lines) > 4 else "")
    return f" (line{'s' * (len(lines) > 1)} {shown})"


def _listed(value: object) -> str:
    words = value if isinstance(value, list) else [value]
    return ", ".join(f"{word:g}" if isinstance(word, float) else str(word) for word in words)


def _number(value: float | None, digits: int = 2, unit: str = "") -> str:
    return "–" if value is None else f"{value:.{digits}f}{unit}"


# What `navigator lab speculation measure` ends with: whether to speculate, from what was measured.


def decision(runs: list[Run]) -> dict[str, Any]:
    """The decision as JSON has it, and as `tell_decision` prints it; `missing` says why nothing can be decided yet."""
    rule = [asdict(each) | {"sentence": each.sentence} for each in rules(runs)]
    try:
        return {**asdict(decide(runs)), "rules": rule}
    except MissingPart as error:
        return {"decision": "cannot tell", "missing": error.message, "rules": rule}


def tell_decision(found: dict[str, Any]) -> None:
    """The decision, for people."""
    for rule in found["rules"]:
        output.prose(rule["sentence"])
    if "missing" in found:
        output.say(f"Nothing is decided yet. {found['missing']}")
        return
    output.table(
        [Drafting(**arm) for arm in found["arms"]],
        ("method", lambda arm: arm.draft),
        ("γ", lambda arm: arm.gamma),
        ("starts", lambda arm: arm.blocks),
        ("tok/s", lambda arm: f"{arm.speed:.1f}"),
        ("without", lambda arm: f"{arm.base_speed:.1f}"),
        ("gain", lambda arm: f"{arm.speedup - 1:+.1%}"),
        ("95 %", _interval),
        ("between starts", lambda arm: "–" if arm.between is None else f"{100 * arm.between:.1f} pp"),
        ("decision", lambda arm: f"{arm.verdict}: {arm.reason}"),
    )
    output.say()
    output.say(found["sentence"], bold=True)


def _interval(arm: Drafting) -> str:
    return "–" if arm.low is None or arm.high is None else f"{arm.low - 1:+.1%} to {arm.high - 1:+.1%}"


def runs_file(role: Role) -> Path:
    """The runs measured for a role, in the state folder."""
    return lab_folder() / f"speculation-{role.value}.jsonl"


@command()
def measure(
    plan: Annotated[Path, Value("PLAN")],
    *,
    role: Literal["generator", "reviewer"] = "generator",
    out: Annotated[Path | None, Value("FILE")] = None,
    write: bool = False,
) -> None:
    """Measure speculative decoding as PLAN (TOML) says: every method and length in each of several start blocks.

    The server is started for every method, block by block, in random order. What was measured is kept after each start; run the
    command again to go on. Nothing else should use the machine meanwhile. It ends with the decision whether to speculate, which
    takes five blocks. --write has the next swap start the server that way.

    Args:
        role: Whose server the plan starts; names the file of results.
        out: Results; by default in the state folder.
        write: Put the decision into the unit that starts the role's server.
    """
    from navigator.lab.runs import recording
    from navigator.setup.speculation import write_decision

    read = read_plan(plan)
    results = out or runs_file(Role(role))
    targets = list(dict.fromkeys(arm.target for arm in read.arms))
    about = f"{', '.join(targets)} with {', '.join(method.name for method in read.method)}"
    with recording("speculation", results, command_words(out=results), about=about) as record:
        note_progress(record, read, results)

        def report(line: str) -> None:
            output.note(line)
            note_progress(record, read, results)

        measure_runs(read, results, report)
    runs = read_runs(results).runs
    found = findings(runs)
    chosen = {target: decision([run for run in runs if run.target == target]) for target in targets}
    unit = write_decision(runs, Role(role), read, output.note) if write else None
    document = {
        "results": results,
        "runs": len(runs),
        "random_weights": read.engine.random_weights,
        "about": read.engine.about,
        "speculation": tables.speculation(runs),
        "findings": found,
        "decision": chosen[targets[0]],
        "decisions": chosen,
        "unit": unit,
    }

    def text(_: object) -> None:
        _show_measured(runs, found, read.engine.random_weights, results)
        for target, each in chosen.items():
            output.say(target)
            tell_decision(each)
        if unit:
            output.say(f"{unit} starts it that way from the next swap on.")

    output.show(document, text)


def _show_measured(runs: list[Run], found: list[TableFault], random: bool, results: Path) -> None:
    if random:
        output.say(RANDOM, bold=True)
    tell_speculation(runs)
    for finding in found:
        output.say(f"{finding.severity}: {finding.kind}: {finding.subject}: {finding.arithmetic}")
    output.say(f"Results: {results}")
    output.say()


# `navigator lab speculation predict`: what speculation would bring, from acceptance and costs

_Positive = Annotated[float, Value("TOK/S", type=click.FloatRange(min=0, min_open=True))]


class _Costs(TypedDict):
    alpha: Share | None
    rate: Share | None
    gamma: AtLeast1 | None
    restart_seconds: Annotated[float | None, Value("S", type=click.FloatRange(min=0))]
    speed: _Positive | None
    experts: AtLeast1 | None
    top_k: AtLeast1 | None


@command()
def predict(
    *,
    measured_: File | None = None,
    method: Annotated[str | None, Value("[TARGET/]NAME")] = None,
    draft_cost: Annotated[float | None, Value("C", type=click.FloatRange(min=0))] = None,
    verify_cost: Annotated[float | None, Value("V", type=click.FloatRange(min=0, min_open=True))] = None,
    **costs: Unpack[_Costs],
) -> None:
    """Predict the speed-up of speculative decoding, and where it breaks even, from given costs or from measured runs.

    Args:
        alpha: Chance that a drafted token is accepted.
        rate: Instead: accepted ÷ drafted tokens, as servers count.
        gamma: Draft length; by default the best of 1 to 16.
        measured_: Take c, v and α from the runs that `measure` wrote.
        method: Which of the measured methods, where there are several.
        draft_cost: A draft step ÷ a step of the target.
        verify_cost: A verifying pass ÷ a step of the target. Default 1.
        experts: Routed experts of a layer.
        top_k: Experts that a token uses.
        restart_seconds: What switching costs.
        speed: Speed without speculation.
    """
    known = measured(read_runs(measured_).runs, method) if measured_ is not None else None
    if known is not None:
        draft_cost = known.draft_cost if draft_cost is None else draft_cost
        verify_cost = known.verify_cost if verify_cost is None else verify_cost
        if costs["alpha"] is None and costs["rate"] is None:
            costs["alpha"] = known.alpha
    if draft_cost is None:
        raise UsageError("A prediction needs c.", hint="Give --draft-cost, or --measured.")
    found = predicted(Given(draft_cost=draft_cost, verify_cost=verify_cost or 1.0, **costs))
    notes = [BATCH_FORM_FLAW]
    if verify_cost is None:
        notes.append(
            "v is taken as 1: verifying γ + 1 tokens costs as much as one step. On sparse models it costs more; measure it."
        )
    document = asdict(found) | {"notes": notes, "measured": known is not None}

    def text(_: object) -> None:
        if known is not None:
            output.say("\n".join([*fit_words(known.fit), ""]))
        _show_prediction(found, notes)

    output.show(document | ({"fit": known.fit} if known else {}), text)


def _show_prediction(found: Prediction, notes: list[str]) -> None:
    lines: list[tuple[str, str]] = [
        ("draft length γ", str(found.gamma)),
        ("α, chance that a drafted token is accepted", f"{found.alpha:.3f}"),
        ("accepted ÷ drafted at this γ", f"{found.rate:.3f}"),
        ("tokens a round", f"{found.expected_tokens:.3f}"),
        ("v, cost of verifying", f"{found.verify_cost:.3f}"),
        ("speed-up", f"{found.speedup:.3f}×"),
        ("  batch form", f"{found.speedup_batch_form:.3f}×"),
        ("breaks even at α", "never" if found.break_even_alpha is None else f"{found.break_even_alpha:.3f}"),
    ]
    if found.distinct_experts is not None:
        lines.append((f"distinct experts of {found.gamma + 1} tokens", f"{found.distinct_experts:.2f}"))
    if found.break_even_tokens is not None:
        lines.append(("a restart has paid after", f"{found.break_even_tokens:,.0f} tokens"))
    output.table(lines, "predicted", "")
    for note in notes:
        output.prose(note)
