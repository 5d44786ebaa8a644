"""Which files an import means: by the end of their paths, nearest first; the same for every language.

An import is brought to the form `a/b/c`; it means the file whose path without extension ends so, or all files of the folder
that does (a Go package). Relative imports start at the importing file's folder. What cannot be resolved is no import.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable

_INDEX_NAMES = frozenset({"__init__", "index", "mod"})
_DOTTED = frozenset({"python", "java", "kotlin", "c_sharp"})
_FOLDERS = frozenset({"go"})
_MOST_FILES = 40
_MOST_NEAR = 3

FAMILIES = {
    "typescript": "javascript",
    "tsx": "javascript",
    "cpp": "c",
    "kotlin": "java",
}
"""Languages whose files speak of one another."""


class Resolver:
    """Finds what imports mean among some paths.

    Args:
        files: (path, language) of each file, in the order whose numbers `resolve` answers with.
    """

    def __init__(self, files: Iterable[tuple[str, str]]) -> None:
        self._paths: list[str] = []
        self._bare: list[str] = []
        self._by_name: defaultdict[str, list[int]] = defaultdict(list)
        self._by_folder: defaultdict[str, list[int]] = defaultdict(list)
        self._folders: defaultdict[str, set[str]] = defaultdict(set)
        for number, (path, language) in enumerate(files):
            bare = posixpath.splitext(path)[0] if language else path
            if language and posixpath.basename(bare) in _INDEX_NAMES:
                bare = posixpath.dirname(bare)
            self._paths.append(path)
            self._bare.append(bare)
            self._by_name[posixpath.basename(bare)].append(number)
            if language in _FOLDERS:
                folder = posixpath.dirname(path)
                self._by_folder[folder].append(number)
                self._folders[posixpath.basename(folder)].add(folder)

    def resolve(self, number: int, language: str, text: str) -> list[int]:
        """The files that `text`, imported in file `number`, means; none where that is not clear."""
        if language in _FOLDERS:
            return self._package(text)
        target, relative = self._target(self._paths[number], language, text)
        if not target:
            return []
        named = self._by_name.get(posixpath.basename(target), ())
        if relative:
            return [n for n in named if self._bare[n] == target and n != number][:_MOST_NEAR]
        while target:
            named = self._by_name.get(posixpath.basename(target), ())
            found = [n for n in named if n != number and _ends_with(self._bare[n], target)]
            if found:
                near = self._paths[number]
                found.sort(key=lambda n: -len(posixpath.commonprefix([near, self._paths[n]])))
                return found[:1]
            # `a.b.Name`: the last part may be something inside of the file.
            target = target.rpartition("/")[0] if language in _DOTTED and target.count("/") > 1 else ""
        return []

    def _target(self, path: str, language: str, text: str) -> tuple[str, bool]:
        """The form `a/b/c` of an import, and whether it is a whole path from the root."""
        folder = posixpath.dirname(path)
        if language == "python" and text.startswith("."):
            dots = len(text) - len(text.lstrip("."))
            for _ in range(dots - 1):
                folder = posixpath.dirname(folder)
            rest = text[dots:].replace(".", "/")
            return posixpath.normpath(posixpath.join(folder, rest)), True
        if language in _DOTTED:
            return text.replace(".", "/"), False
        if language == "rust":
            inner = (
                folder
                if posixpath.basename(path) in {"mod.rs", "lib.rs", "main.rs"}
                else posixpath.splitext(path)[0]
            )
            near = posixpath.join(inner, text)
            return near, True
        text = text.replace("\\", "/").split("?", 1)[0]
        bare = posixpath.splitext(text)[0] if posixpath.splitext(text)[1] in _WRITTEN else text
        if text.startswith("."):
            target = posixpath.normpath(posixpath.join(folder, bare))
            if posixpath.basename(target) in _INDEX_NAMES:
                target = posixpath.dirname(target)
            return target, True
        return bare.strip("/"), False

    def _package(self, text: str) -> list[int]:
        found = [
            folder for folder in self._folders.get(posixpath.basename(text), ()) if _ends_with(text, folder)
        ]
        if not found:
            return []
        return self._by_folder[max(found, key=len)][:_MOST_FILES]


_WRITTEN = frozenset(
    {
        ".js",
        ".jsx",
        ".ts",
        ".tsx",
        ".mjs",
        ".cjs",
        ".mts",
        ".cts",
        ".vue",
        ".rb",
        ".h",
        ".hpp",
        ".hh",
        ".hxx",
        ".php",
    }
)
"""Extensions that imports write out."""


def _ends_with(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")
