"""Rules about calls, handlers and raises: encodings, timeouts, safe loading, bare except, NotImplemented."""

from __future__ import annotations

import libcst as cst

from tests.scripted.writer.rules.base import BuiltinAware, PlaceTransformer, is_name

_REQUEST_METHODS = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})
_LOGGERS = frozenset({"log", "logger", "logging", "LOG", "LOGGER", "_log", "_logger"})


class OpenEncoding(BuiltinAware):
    """Text files are opened, read and written with encoding="utf-8" where none is named."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if not self._lacks_encoding(original_node) or not self.take():
            return updated_node
        return with_keyword(updated_node, "encoding", '"utf-8"')

    def _lacks_encoding(self, node: cst.Call) -> bool:
        if any(arg.star or is_keyword(arg, "encoding") for arg in node.args):
            return False
        positional = [arg for arg in node.args if arg.keyword is None]
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in {"read_text", "write_text"}:
            return len(node.args) == (0 if node.func.attr.value == "read_text" else 1) == len(positional)
        if not is_name(node.func, "open") or not 1 <= len(positional) <= 2:
            return False
        mode = positional[1].value if len(positional) == 2 else None
        for arg in node.args:
            if is_keyword(arg, "mode"):
                mode = arg.value
        if mode is not None and (not isinstance(mode, cst.SimpleString) or "b" in mode.raw_value):
            return False
        return self.is_builtin(node.func, "open")


class RequestTimeouts(PlaceTransformer):
    """Network calls get `timeout=10` where they would wait for ever."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if any(arg.star or is_keyword(arg, "timeout") for arg in updated_node.args) or not updated_node.args:
            return updated_node
        func = updated_node.func
        if isinstance(func, cst.Attribute):
            waits = (is_name(func.value, "requests") and func.attr.value in _REQUEST_METHODS) or (
                func.attr.value == "urlopen" and len(updated_node.args) == 1
            )
        else:
            waits = is_name(func, "urlopen") and len(updated_node.args) == 1
        if not waits or not self.take():
            return updated_node
        return with_keyword(updated_node, "timeout", "10")


class SafeYaml(PlaceTransformer):
    """`yaml.load(text)` becomes `yaml.safe_load(text)`."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        func = updated_node.func
        if (
            not isinstance(func, cst.Attribute)
            or not is_name(func.value, "yaml")
            or func.attr.value != "load"
        ):
            return updated_node
        if len(updated_node.args) != 1 or not self.take():
            return updated_node
        return updated_node.with_changes(func=func.with_changes(attr=cst.Name("safe_load")))


class LoggerWarn(PlaceTransformer):
    """`logger.warn(…)` becomes `logger.warning(…)`: the old name is gone from Python 3.13."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        func = updated_node.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "warn":
            return updated_node
        owner = func.value.attr if isinstance(func.value, cst.Attribute) else func.value
        if not is_name(owner, *_LOGGERS) or not self.take():
            return updated_node
        return updated_node.with_changes(func=func.with_changes(attr=cst.Name("warning")))


class BareExcept(PlaceTransformer):
    """`except:` becomes `except Exception:`; a handler that ends by raising again keeps catching everything."""

    def leave_ExceptHandler(
        self, original_node: cst.ExceptHandler, updated_node: cst.ExceptHandler
    ) -> cst.ExceptHandler | cst.FlattenSentinel[cst.ExceptHandler] | cst.RemovalSentinel:
        if updated_node.type is not None or _raises_again(updated_node.body) or not self.take():
            return updated_node
        return updated_node.with_changes(
            type=cst.Name("Exception"), whitespace_after_except=cst.SimpleWhitespace(" ")
        )


class RaiseNotImplemented(BuiltinAware):
    """`raise NotImplemented` raises a TypeError instead of what was meant; NotImplementedError is meant."""

    def leave_Raise(self, original_node: cst.Raise, updated_node: cst.Raise) -> cst.Raise:
        error, before = updated_node.exc, original_node.exc
        if isinstance(error, cst.Call) and isinstance(before, cst.Call):
            if not is_name(error.func, "NotImplemented") or not self.is_builtin(
                before.func, "NotImplemented"
            ):
                return updated_node
            return (
                updated_node.with_changes(exc=error.with_changes(func=cst.Name("NotImplementedError")))
                if self.take()
                else updated_node
            )
        if error is None or before is None or not is_name(error, "NotImplemented"):
            return updated_node
        if not self.is_builtin(before, "NotImplemented") or not self.take():
            return updated_node
        return updated_node.with_changes(exc=cst.Name("NotImplementedError"))


def is_keyword(argument: cst.Arg, name: str) -> bool:
    """Whether an argument is given as `name=…`."""
    return argument.keyword is not None and argument.keyword.value == name


def with_keyword(call: cst.Call, name: str, value: str) -> cst.Call:
    """`call` with `name=value` as its last argument; a trailing comma stays where it was."""
    args = list(call.args)
    added = cst.Arg(
        value=cst.parse_expression(value),
        keyword=cst.Name(name),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if args and isinstance(args[-1].comma, cst.Comma):
        added = added.with_changes(comma=args[-1].comma)
        between = args[-2].comma if len(args) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args[-1] = args[-1].with_changes(comma=between)
    return call.with_changes(args=[*args, added])


def _raises_again(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1] if last.body else None
    return isinstance(last, cst.Raise) and last.exc is None
