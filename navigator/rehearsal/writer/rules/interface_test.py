"""The one rule that makes a new file: a test that pins the public interface of a module."""

from __future__ import annotations

import ast
import sys

_MOST_FUNCTIONS = 12


def interface_test(module: str, text: str, own: frozenset[str], *, root: str = "") -> str | None:
    """The source of a unittest module, or None where it could not run for sure.

    Args:
        module: dotted name under which the file is imported.
        text: the file.
        own: top-level packages of the project; anything else imported has to be the standard library's.
        root: folder that holds the packages, e.g. "src"; empty where it is the repository itself.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    if not all(name in own or name in sys.stdlib_module_names for name in _imported(tree)):
        return None
    functions = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.decorator_list
    ]
    if not functions:
        return None
    title = "".join(part.capitalize() for part in module.rpartition(".")[2].split("_"))
    lines = [
        f'"""Pins the public interface of `{module}`: a changed signature has to be changed here too."""',
        "",
        "import inspect",
        *(["import sys"] if root else []),
        "import unittest",
        "",
        *([f'sys.path.insert(0, "{root}")', ""] if root else []),
        f"import {module} as subject",
        "",
        "",
        f"class {title}InterfaceTest(unittest.TestCase):",
        "    def parameters(self, name):",
        "        return list(inspect.signature(getattr(subject, name)).parameters)",
    ]
    for node in functions[:_MOST_FUNCTIONS]:
        every = [*node.args.posonlyargs, *node.args.args]
        if node.args.vararg:
            every.append(node.args.vararg)
        every += node.args.kwonlyargs
        if node.args.kwarg:
            every.append(node.args.kwarg)
        names = ", ".join(f'"{arg.arg}"' for arg in every)
        lines += [
            "",
            f"    def test_{node.name}(self):",
            f'        self.assertEqual(self.parameters("{node.name}"), [{names}])',
        ]
    lines += ["", "", 'if __name__ == "__main__":', "    unittest.main()", ""]
    return "\n".join(lines)


def _imported(tree: ast.Module) -> set[str]:
    """Top-level names of everything imported with an absolute name, anywhere in the file."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names
