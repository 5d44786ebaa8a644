"""How commands are declared: a function whose parameters say what they take, and groups that import commands on use."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click

_SHORT_HELP_LIMIT = 400
"""Longest one-line help; click's default is 45."""

_CONTINUATION = " " * 8
"""Indent of a continuation line in `Args:`."""


class Commands(click.Group):
    """A group whose help cuts no sentence. Commands of its table live in modules of their own, imported on use.

    Args:
        table: command → (module below `navigator.cli`, one line of help); with the help there, `--help` imports nothing.
    """

    def __init__(
        self, *args: Any, table: Mapping[str, tuple[str, str]] = MappingProxyType({}), **named: Any
    ) -> None:
        super().__init__(*args, **named)
        self.table = table
        self.commands: dict[str, Any] = dict.fromkeys(table)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the table."""
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, from the module that defines it."""
        if cmd_name not in self.table:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"navigator.cli.{self.table[cmd_name][0]}")
        command = getattr(module, cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, one sentence each."""
        with formatter.section("Commands"):
            formatter.write_dl(
                (name, command.get_short_help_str(_SHORT_HELP_LIMIT) if command else self.table[name][1])
                for name, command in self.commands.items()
            )


@dataclass(frozen=True, slots=True)
class Value:
    """What a parameter's type does not say: a name for its value in the usage, which values are allowed."""

    name: str | None = None
    type: click.ParamType[Any] | None = None


AtLeast1 = Annotated[int, Value("N", type=click.IntRange(min=1))]
Share = Annotated[float, Value("0–1", type=click.FloatRange(0, 1))]
Folder = Annotated[Path, Value("DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))]
File = Annotated[Path, Value("FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False))]
Note = Annotated[str, Value("TEXT")]
Day = Annotated[str, Value("D")]
ProjectName = Annotated[str, Value("PROJECT")]
ProjectNames = Annotated[tuple[str, ...], Value("[PROJECT]…")]
TaskId = Annotated[str, Value("T")]
TaskIds = Annotated[tuple[str, ...], Value("T…")]
ProposalId = Annotated[str, Value("P")]
ProposalIds = Annotated[tuple[str, ...], Value("P…")]


def _click_type(kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if _is_enum(kind):
        return click.Choice([member.value for member in kind])
    return click.Path(path_type=Path) if kind is Path else kind


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def _to_enum(kind: Any) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A click callback that converts values to enum members."""
    return lambda ctx, param, value: (
        tuple(map(kind, value)) if isinstance(value, tuple) else None if value is None else kind(value)
    )


def command(
    group: click.Group | None = None, name: str = "", *, json: bool = True, yes: bool = False
) -> Callable[[Callable[..., object]], click.Command]:
    """Make a command of a function: its signature says what it takes, its docstring what that means.

    Positional parameters are arguments, those that can only be named are options: a bool is a switch, a tuple[X, ...] may be
    repeated, and `**given: Unpack[T]` takes the options that the TypedDict T lists. A trailing underscore in a name is
    dropped. `Args:` in the docstring has the help of the options.

    Args:
        group: the group that it belongs to, where that is not a lazy one.
        name: its name, where it is not the function's.
        json: it has --json, which `output.show` obeys.
        yes: it has --yes, which `session.confirmed` obeys.
    """

    def made(function: Callable[..., object]) -> click.Command:
        hints = get_type_hints(function, include_extras=True)
        about, _, listed = (inspect.getdoc(function) or "").partition("\nArgs:\n")
        helps, word = dict[str, str](), ""
        for line in listed.splitlines():
            if line.startswith(_CONTINUATION):
                helps[word] += f" {line.strip()}"
            else:
                word, _, helps[word] = line.strip().partition(": ")
        params = []
        for each in inspect.signature(function).parameters.values():
            if each.kind is inspect.Parameter.VAR_KEYWORD:  # options that are passed on, none by default
                (fields,) = get_args(hints[each.name])
                several = get_type_hints(fields, include_extras=True)
            else:
                several = {each.name: hints[each.name]}
            for word, hint in several.items():
                default = each.default if word == each.name else None
                params.append(_parameter(word, hint, default, each.kind, helps.get(word, "")))
        if yes:
            params.append(_switch("--yes", "-y", help="Do not ask for confirmation."))
        if json:
            params.append(_switch("--json", help="Print JSON."))
        called = name or function.__name__.replace("_", "-")
        found = click.Command(called, callback=function, params=params, help=about)
        if group is not None:
            group.add_command(found)
        return found

    return made


def _unfolded(hint: Any) -> tuple[Any, Value]:
    """A type without `Annotated` and None, and what was said beside it."""
    value = Value()
    while True:
        if get_origin(hint) is Annotated:
            hint, value = get_args(hint)[0], get_args(hint)[-1]
        elif type(None) in get_args(hint):
            (hint,) = (one for one in get_args(hint) if one is not type(None))
        else:
            return hint, value


def _parameter(name: str, hint: Any, default: Any, kind_of: Any, about: str) -> click.Parameter:
    """What click makes of a parameter of a function."""
    kind, value = _unfolded(hint)
    several = get_origin(kind) is tuple
    together = several and Ellipsis not in get_args(kind)  # a fixed number of values
    inner, of_each = _unfolded(get_args(kind)[0]) if several else (kind, value)
    value = value if value != Value() else of_each
    empty = default in (inspect.Parameter.empty, None, ())
    known: dict[str, Any] = {
        "type": value.type or _click_type(inner),
        "default": None if empty else getattr(default, "value", default),
        "metavar": value.name,
        "callback": _to_enum(inner) if _is_enum(inner) else None,
    }
    if kind_of is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        if required := default is inspect.Parameter.empty:
            del known["default"]  # None would be taken for a value
        return click.Argument([name], required=required, nargs=-1 if several else 1, **known)
    word = name.rstrip("_").replace("_", "-")
    flag = f"--{word}" if len(word) > 1 else f"-{word}"
    if kind is bool and default is None:
        flag += f"/--no-{word}"
    return click.Option(
        [name, flag],
        help=about,
        is_flag=kind is bool,
        multiple=several and not together,
        nargs=len(get_args(kind)) if together else 1,
        show_default=kind is not bool and not empty and default not in ("", 0),
        **known,
    )


def _switch(*names: str, help: str) -> click.Option:
    """A switch that no function gets as a parameter: `switch_given` says whether it was used."""

    def keep(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        ctx.meta[f"navigator{names[0]}"] = value

    return click.Option(names, is_flag=True, help=help, expose_value=False, callback=keep)


def switch_given(switch: Literal["--json", "--yes"]) -> bool | None:
    """Whether the command that runs was called with it; None for one that has no such switch."""
    ctx = click.get_current_context(silent=True)
    found: bool | None = ctx.meta.get(f"navigator{switch}") if ctx is not None else None
    return found


def command_words(**changed: Any) -> list[str]:
    """The arguments that would repeat this command from any folder; `changed` overrides parameters."""
    ctx = click.get_current_context()
    words = ctx.command_path.split()[1:]
    for param in ctx.command.params:
        value = changed.get(param.name or "", ctx.params.get(param.name or ""))
        if value in (None, False, "", ()):
            continue
        flag = [param.opts[0]] if isinstance(param, click.Option) else []
        if value is True:
            words += flag
            continue
        several = value if isinstance(value, tuple) else (value,)
        shown = [str(each.resolve() if isinstance(each, Path) else each) for each in several]
        words += (
            [word for each in shown for word in (*flag, each)]
            if getattr(param, "multiple", False)
            else [*flag, *shown]
        )
    return words
