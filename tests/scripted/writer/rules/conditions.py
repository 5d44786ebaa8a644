"""Rules about comparisons: None by identity, types by isinstance, membership without `.keys()`."""

from __future__ import annotations

import libcst as cst

from tests.scripted.writer.rules.base import BuiltinAware, PlaceTransformer, is_name

QUERY_METHODS = frozenset({"filter", "where", "having", "filter_by", "exclude"})
"""In an argument of these, `== None` may be an overloaded operator that builds a query."""


class NoneComparisons(PlaceTransformer):
    """`x == None` becomes `x is None`; `!=` becomes `is not`."""

    def __init__(self, focus: frozenset[str], skip: frozenset[int]) -> None:
        super().__init__(focus, skip)
        self._queries = 0

    def visit_Call(self, node: cst.Call) -> bool | None:
        self._queries += _is_query(node)
        return True

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        self._queries -= _is_query(original_node)
        return updated_node

    def leave_Comparison(
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        if self._queries or len(updated_node.comparisons) != 1:
            return updated_node
        target = updated_node.comparisons[0]
        if not is_name(target.comparator, "None") and not is_name(updated_node.left, "None"):
            return updated_node
        operator: cst.Is | cst.IsNot
        if isinstance(target.operator, cst.Equal):
            operator = cst.Is()
        elif isinstance(target.operator, cst.NotEqual):
            operator = cst.IsNot()
        else:
            return updated_node
        if not self.take():
            return updated_node
        return updated_node.with_changes(comparisons=[target.with_changes(operator=operator)])


class TypeComparisons(BuiltinAware):
    """`type(x) == T` becomes `isinstance(x, T)`; `!=` and `is not` become `not isinstance(x, T)`."""

    def leave_Comparison(
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        if len(original_node.comparisons) != 1:
            return updated_node
        target = original_node.comparisons[0]
        subject = self._subject(original_node.left)
        if subject is None or self._subject(target.comparator) is not None:
            return updated_node
        if not isinstance(target.comparator, cst.Name | cst.Attribute) or is_name(target.comparator, "None"):
            return updated_node
        if not isinstance(target.operator, cst.Equal | cst.NotEqual | cst.Is | cst.IsNot):
            return updated_node
        if not self.take():
            return updated_node
        call = cst.Call(
            func=cst.Name("isinstance"),
            args=[cst.Arg(subject), cst.Arg(target.comparator)],
        )
        if isinstance(target.operator, cst.Equal | cst.Is):
            return call.with_changes(lpar=updated_node.lpar, rpar=updated_node.rpar)
        return cst.UnaryOperation(cst.Not(), call, lpar=updated_node.lpar, rpar=updated_node.rpar)

    def _subject(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """`x` of a call `type(x)` of the builtin; None for anything else."""
        if not isinstance(node, cst.Call) or len(node.args) != 1 or not is_name(node.func, "type"):
            return None
        argument = node.args[0]
        if argument.star or argument.keyword is not None or not self.is_builtin(node.func, "type"):
            return None
        return argument.value


class KeysCalls(PlaceTransformer):
    """`k in d.keys()` becomes `k in d`, in loops and in tests."""

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel:
        mapping = _keys_of(updated_node.iter)
        if mapping is None or not self.take():
            return updated_node
        return updated_node.with_changes(iter=mapping)

    def leave_ComparisonTarget(
        self, original_node: cst.ComparisonTarget, updated_node: cst.ComparisonTarget
    ) -> cst.ComparisonTarget | cst.FlattenSentinel[cst.ComparisonTarget] | cst.RemovalSentinel:
        mapping = _keys_of(updated_node.comparator)
        if mapping is None or not isinstance(updated_node.operator, cst.In | cst.NotIn):
            return updated_node
        return updated_node.with_changes(comparator=mapping) if self.take() else updated_node


def _is_query(node: cst.Call) -> bool:
    return isinstance(node.func, cst.Attribute) and node.func.attr.value in QUERY_METHODS


def _keys_of(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """`d` of `d.keys()`; None for anything else, and where the receiver is itself a call."""
    if not isinstance(node, cst.Call) or node.args or not isinstance(node.func, cst.Attribute):
        return None
    if node.func.attr.value != "keys" or not isinstance(node.func.value, cst.Name | cst.Attribute):
        return None
    return node.func.value
