"""Words for a docstring, made from what a signature says and nothing else."""

from __future__ import annotations

import libcst as cst

_VERB_LIST = (
    "add append apply archive assign build bump cancel check clean clear close collect compute connect "
    "convert copy count create decode delete describe detect disable discard drop dump emit enable encode "
    "ensure export extend extract fetch fill filter find finish flush format forward gather generate get "
    "group handle import index insert install join list load lock log make mark match measure merge move "
    "normalise normalize notify open order parse pick plan poll prepare print process publish pull push "
    "put queue read rebuild record refresh register release remove rename render replace report reset "
    "resolve restore retry return round run save scan schedule search send set show skip sort split start "
    "stop store strip submit summarise summarize sync take track transform trim unlock update upload "
    "validate verify wait walk write "
)
_VERBS = frozenset(_VERB_LIST.split())
_LONGEST_DEFAULT = 40


def docstring_lines(node: cst.FunctionDef) -> list[str]:
    """The docstring's lines without indentation, quotes included."""
    summary = _summary(node)
    sections: list[str] = []
    told = [line for param in _params(node) if (line := _described(param))]
    if told:
        sections += ["", "Args:", *[f"    {line}" for line in told]]
    errors = _raised(node)
    if errors:
        sections += ["", "Raises:", *[f"    {name}: see the checks in the body." for name in errors]]
    if not sections:
        return [f'"""{summary}"""']
    return [f'"""{summary}', *sections, '"""']


def _summary(node: cst.FunctionDef) -> str:
    words = [word for word in node.name.value.split("_") if word]
    first, rest = words[0].lower(), " ".join(words[1:])
    if first in {"is", "has", "can", "should"}:
        return f"Say whether this {first} {rest or 'so'}."
    if first == "to" and rest:
        return f"Convert to {rest}."
    if first == "from" and rest:
        return f"Make one from {rest}."
    if first == "on" and rest:
        return f"React to {rest}."
    if first in _VERBS:
        return f"{first.capitalize()} {rest}.".replace(" .", ".")
    whole = " ".join(words)
    returns = node.returns
    if returns is not None and _code(returns.annotation) != "None":
        return f"Return the {whole}."
    return f"{whole[:1].upper()}{whole[1:]}."


def _params(node: cst.FunctionDef) -> list[cst.Param]:
    params = [*node.params.posonly_params, *node.params.params, *node.params.kwonly_params]
    return [param for param in params if param.name.value not in {"self", "cls"}]


def _described(param: cst.Param) -> str:
    """`name: of type T; D unless given.`; empty when the signature says nothing about the parameter."""
    parts = []
    if param.annotation is not None:
        parts.append(f"of type {_code(param.annotation.annotation)}")
    if param.default is not None:
        default = _code(param.default)
        if len(default) <= _LONGEST_DEFAULT and "\n" not in default:
            parts.append(f"{default} unless given")
    text = "; ".join(parts).replace("\\", "").replace('"""', "'''")
    return f"{param.name.value}: {text}." if text else ""


class _Raised(cst.CSTVisitor):
    """The names of errors raised in a body, in order, without those of functions inside."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool | None:
        return False

    def visit_Raise(self, node: cst.Raise) -> None:
        error = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
        if not isinstance(error, cst.Name | cst.Attribute):
            return
        name = _code(error)
        if name.rpartition(".")[2][:1].isupper() and name not in self.names:
            self.names.append(name)


def _raised(node: cst.FunctionDef) -> list[str]:
    visitor = _Raised()
    node.body.visit(visitor)
    return visitor.names


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node).strip()
