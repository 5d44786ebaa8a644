"""Rules about whole functions: mutable defaults, docstrings from the signature, `-> None`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tests.scripted.writer.rules.base import PlaceTransformer, is_name
from tests.scripted.writer.rules.docstring_text import docstring_lines

Returned = cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel

_STUB_DECORATORS = frozenset(
    {"overload", "abstractmethod", "setter", "deleter", "contextmanager", "asynccontextmanager"}
)


class MutableDefaults(PlaceTransformer):
    """`def f(x=[])` becomes `def f(x=None)` with a guard as the body's first statement."""

    def __init__(self, focus: frozenset[str], skip: frozenset[int]) -> None:
        super().__init__(focus, skip)
        self._future = False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool | None:
        self._future |= is_name(node.module, "__future__") if node.module else False
        return False

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> Returned:
        result = self._rewritten(updated_node)
        self.stack.pop()
        return result

    def _rewritten(self, node: cst.FunctionDef) -> cst.FunctionDef:
        if not isinstance(node.body, cst.IndentedBlock) or is_stub(node):
            return node
        guards: list[cst.BaseStatement] = []
        lists: dict[str, list[cst.Param]] = {}
        for field in ("posonly_params", "params", "kwonly_params"):
            lists[field] = [self._param(param, guards) for param in getattr(node.params, field)]
        if not guards:
            return node
        body = list(node.body.body)
        at = 1 if node.get_docstring() is not None else 0
        if at < len(body) and isinstance(body[at], cst.SimpleStatementLine | cst.BaseCompoundStatement):
            first = body[at]
            guards[0] = guards[0].with_changes(leading_lines=getattr(first, "leading_lines", ()))
            body[at] = first.with_changes(leading_lines=())
        body[at:at] = guards
        return node.with_changes(
            params=node.params.with_changes(**lists), body=node.body.with_changes(body=body)
        )

    def _param(self, param: cst.Param, guards: list[cst.BaseStatement]) -> cst.Param:
        if param.default is None or not _is_empty_container(param.default) or not self.take():
            return param
        name = param.name.value
        empty = cst.Module([]).code_for_node(param.default)
        guards.append(cst.parse_statement(f"if {name} is None:\n    {name} = {empty}\n"))
        changed = param.with_changes(default=cst.Name("None"))
        annotation = param.annotation
        if (
            annotation is None
            or not self._future
            or "None" in cst.Module([]).code_for_node(annotation.annotation)
        ):
            return changed
        optional = cst.BinaryOperation(annotation.annotation, cst.BitOr(), cst.Name("None"))
        return changed.with_changes(annotation=annotation.with_changes(annotation=optional))


class Docstrings(PlaceTransformer):
    """Public functions and methods without a docstring get one, made from name, signature and raised errors."""

    def __init__(self, focus: frozenset[str], skip: frozenset[int]) -> None:
        super().__init__(focus, skip)
        self._indents: list[str] = []
        self._default = "    "
        self._functions = 0

    def visit_Module(self, node: cst.Module) -> bool | None:
        self._default = node.default_indent
        return True

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> bool | None:
        self._indents.append(node.indent if node.indent is not None else self._default)
        return True

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        self._indents.pop()
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool | None:
        self._functions += 1
        return super().visit_FunctionDef(node)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> Returned:
        self._functions -= 1
        body = updated_node.body
        public = not any(name.startswith(("_", "test", "Test")) for name in self.stack)
        wanted = (
            public
            and not self._functions
            and isinstance(body, cst.IndentedBlock)
            and original_node.get_docstring() is None
            and not is_stub(original_node, but_abstract=True)
        )
        take = wanted and self.take()
        self.stack.pop()
        if not take or not isinstance(body, cst.IndentedBlock):
            return updated_node
        indent = "".join(self._indents) + (body.indent if body.indent is not None else self._default)
        text = f"\n{indent}".join(docstring_lines(original_node)).replace(f"\n{indent}\n", "\n\n")
        statement = cst.SimpleStatementLine([cst.Expr(cst.SimpleString(text))])
        return updated_node.with_changes(body=body.with_changes(body=[statement, *body.body]))


class ReturnsNothing(PlaceTransformer):
    """Functions that provably return nothing get `-> None`."""

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> Returned:
        fits = (
            updated_node.returns is None
            and isinstance(updated_node.body, cst.IndentedBlock)
            and not is_stub(original_node)
            and not _gives_back(original_node)
        )
        take = fits and self.take()
        self.stack.pop()
        if not take:
            return updated_node
        return updated_node.with_changes(returns=cst.Annotation(cst.Name("None")))


class _Results(cst.CSTVisitor):
    """Whether a function returns a value or yields, leaving functions inside it aside."""

    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool | None:
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool | None:
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool | None:
        return False

    def visit_Return(self, node: cst.Return) -> None:
        self.found |= node.value is not None and not is_name(node.value, "None")

    def visit_Yield(self, node: cst.Yield) -> None:
        self.found = True


def _gives_back(node: cst.FunctionDef) -> bool:
    results = _Results()
    node.body.visit(results)
    return results.found


def is_stub(node: cst.FunctionDef, *, but_abstract: bool = False) -> bool:
    """Whether a function has no body of its own: only a docstring, `...`, `pass` or `raise`, or a decorator says so."""
    for decorator in node.decorators:
        expression = decorator.decorator
        name = expression.attr if isinstance(expression, cst.Attribute) else expression
        if isinstance(name, cst.Name) and name.value in _STUB_DECORATORS:
            return not (but_abstract and name.value == "abstractmethod")
    if not isinstance(node.body, cst.IndentedBlock) or but_abstract:
        return not isinstance(node.body, cst.IndentedBlock)
    statements: list[cst.BaseStatement] = list(node.body.body)
    if node.get_docstring() is not None:
        statements = statements[1:]
    return all(_says_nothing(statement) for statement in statements)


def _says_nothing(statement: cst.BaseStatement) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    parts: Sequence[cst.BaseSmallStatement] = statement.body
    return all(
        isinstance(part, cst.Pass | cst.Raise)
        or (isinstance(part, cst.Expr) and isinstance(part.value, cst.Ellipsis))
        for part in parts
    )


def _is_empty_container(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.List | cst.Dict):
        return not node.elements
    return isinstance(node, cst.Call) and not node.args and is_name(node.func, "list", "dict", "set")
