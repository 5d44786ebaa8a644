"""The ladder, whole files, several blocks, and every code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from navigator.edits import paths
from navigator.edits.apply import apply_answer
from navigator.edits.parser import parse_answer
from navigator.model.json_text import table
from navigator.model.states import EditCode
from tests.edits.support import Case, check, delete, edit, rename, tree, whole

A = "one\ntwo\nthree\n"
PY = "class A:\n    def f(self):\n        x = 1\n        return x\n\n    def g(self):\n        return 2\n"

EXACT = [
    Case("first line", edit("a", "one", "1"), {"a": A}, {"a": "1\ntwo\nthree\n"}, ("exact",)),
    Case("last line", edit("a", "three", "3"), {"a": A}, {"a": "one\ntwo\n3\n"}, ("exact",)),
    Case("the whole file", edit("a", A, "x"), {"a": A}, {"a": "x\n"}, ("exact",)),
    Case("insert after", edit("a", "two", "two\n2b"), {"a": A}, {"a": "one\ntwo\n2b\nthree\n"}, ("exact",)),
    Case("insert before", edit("a", "one", "zero\none"), {"a": A}, {"a": "zero\n" + A}, ("exact",)),
    Case("delete a line", edit("a", "two", ""), {"a": A}, {"a": "one\nthree\n"}, ("exact",)),
    Case("delete the last line", edit("a", "three", ""), {"a": A}, {"a": "one\ntwo\n"}, ("exact",)),
    Case("delete every line", edit("a", A, ""), {"a": A}, {"a": ""}, ("exact",)),
    Case("a line becomes blank", edit("a", "two", "\n"), {"a": A}, {"a": "one\n\nthree\n"}, ("exact",)),
    Case(
        "blank lines in SEARCH",
        edit("a", "b\n\n\nc", "d"),
        {"a": "a\nb\n\n\nc\n"},
        {"a": "a\nd\n"},
        ("exact",),
    ),
    Case("a leading blank line", edit("a", "\nb", "\nc"), {"a": "a\n\nb\n"}, {"a": "a\n\nc\n"}, ("exact",)),
    Case("tabs", edit("a", "\tx", "\ty"), {"a": "if:\n\tx\n"}, {"a": "if:\n\ty\n"}, ("exact",)),
    Case("a part of a line is no match", edit("a", "w", "x"), {"a": A}, codes=("NO_MATCH",)),
    Case(
        "form feeds end no line",
        edit("a", "b", "c"),
        {"a": "a\n\x0c\nb\n"},
        {"a": "a\n\x0c\nc\n"},
        ("exact",),
    ),
    Case(
        "U+2028 ends no line", edit("a", "b", "c"), {"a": "a\u2028x\nb\n"}, {"a": "a\u2028x\nc\n"}, ("exact",)
    ),
    Case(
        "exact comes before a looser match",
        edit("a", "    x", "    y"),
        {"a": "x\n    x\n        x\n"},
        {"a": "x\n    y\n        x\n"},
        ("exact",),
    ),
    Case(
        "another file is untouched",
        edit("a", "two", "2"),
        {"a": A, "b": A},
        {"a": "one\n2\nthree\n"},
        ("exact",),
    ),
]

TRAILING = "trailing_whitespace"
LADDER = [
    Case("the file has spaces", edit("a", "one", "1"), {"a": "one  \ntwo\n"}, {"a": "1\ntwo\n"}, (TRAILING,)),
    Case("SEARCH has spaces", edit("a", "one \t", "1"), {"a": "one\ntwo\n"}, {"a": "1\ntwo\n"}, (TRAILING,)),
    Case(
        "a repeated line keeps the file's spaces",
        edit("a", "one\ntwo", "one\n2"),
        {"a": "one  \ntwo\t\n"},
        {"a": "one  \n2\n"},
        (TRAILING,),
    ),
    Case(
        "a blank line with spaces", edit("a", "b\n\nc", "d"), {"a": "b\n   \nc\n"}, {"a": "d\n"}, (TRAILING,)
    ),
    Case(
        "twice with trailing spaces is ambiguous",
        edit("a", "one", "1"),
        {"a": "one \none  \n"},
        codes=("AMBIGUOUS",),
        says=("lines 1 and 2", "trailing whitespace aside"),
    ),
    Case(
        "SEARCH without its indent",
        edit("a.py", "def g(self):\n    return 2", "def g(self):\n    return 3"),
        {"a.py": PY},
        {"a.py": PY.replace("return 2", "return 3")},
        ("indent",),
    ),
    Case(
        "REPLACE is shifted too",
        edit("a.py", "x = 1\nreturn x", "if y:\n    x = 1\n\nreturn x"),
        {"a.py": PY},
        {"a.py": PY.replace("        x = 1\n", "        if y:\n            x = 1\n\n")},
        ("indent",),
    ),
    Case(
        "SEARCH with too much indent",
        edit(
            "a.py", "        def g(self):\n            return 2", "        def g(self):\n            return 3"
        ),
        {"a.py": PY},
        {"a.py": PY.replace("return 2", "return 3")},
        ("indent",),
    ),
    Case(
        "a shift of tabs",
        edit("a.go", "x := 1\n\ty", "x := 2\n\ty"),
        {"a.go": "f {\n\tx := 1\n\t\ty\n}\n"},
        {"a.go": "f {\n\tx := 2\n\t\ty\n}\n"},
        ("indent",),
    ),
    Case(
        "the shift looks past blank lines",
        edit("a", "b\n\nc", "b\n\nd"),
        {"a": "a\n  b\n\n  c\n"},
        {"a": "a\n  b\n\n  d\n"},
        ("indent",),
    ),
    Case(
        "no shift that differs from line to line",
        edit("a", "b\nc", "d"),
        {"a": "a\n  b\n    c\n"},
        codes=("NO_MATCH",),
    ),
    Case(
        "no spaces for tabs",
        edit("a", "    b\n        c", "d"),
        {"a": "a\n\tb\n\t\tc\n"},
        codes=("NO_MATCH",),
    ),
    Case(
        "the same shift in two places is ambiguous",
        edit("a", "x\ny", "z"),
        {"a": "  x\n  y\n    x\n    y\n"},
        codes=("AMBIGUOUS",),
        says=("lines 1 and 3", "another indent"),
    ),
    Case(
        "REPLACE that cannot be shifted back",
        edit("a.txt", "        b\n        c", "        b\n  d"),
        {"a.txt": "a\n    b\n    c\n"},
        codes=("NO_MATCH",),
        says=("smaller indent", "line 2"),
    ),
    Case(
        "the file has curly quotes",
        edit("a.md", 'He said "yes" - it\'s', "He said no"),
        {"a.md": "He said \u201cyes\u201d \u2013 it\u2019s\nEnd\n"},
        {"a.md": "He said no\nEnd\n"},
        ("unicode",),
    ),
    Case(
        "SEARCH has curly quotes, which do not get into the file",
        edit("a.py", "x = \u2018a\u2019", "x = \u2018b\u2019"),
        {"a.py": "x = 'a'\n"},
        {"a.py": "x = 'b'\n"},
        ("unicode",),
    ),
    Case(
        "a repeated line keeps the file's quotes",
        edit("a.md", "it's\ntwo", "it's\n2"),
        {"a.md": "it\u2019s\ntwo\n"},
        {"a.md": "it\u2019s\n2\n"},
        ("unicode",),
    ),
    Case(
        "no-break spaces",
        edit("a.md", "10 km", "11 km"),
        {"a.md": "10\u00a0km\n"},
        {"a.md": "11 km\n"},
        ("unicode",),
    ),
    Case("ellipsis", edit("a.md", "wait...", "go"), {"a.md": "wait\u2026\n"}, {"a.md": "go\n"}, ("unicode",)),
    Case("minus sign", edit("a.md", "a - b", "a"), {"a.md": "a \u2212 b\n"}, {"a.md": "a\n"}, ("unicode",)),
    Case("zero-width space", edit("a.md", "ab", "c"), {"a.md": "a\u200bb\n"}, {"a.md": "c\n"}, ("unicode",)),
    Case(
        "decomposed accent",
        edit("a.md", "caf\u00e9", "tea"),
        {"a.md": "cafe\u0301\n"},
        {"a.md": "tea\n"},
        ("unicode",),
    ),
    Case(
        "letters are never alike",
        edit("a.md", "cafe", "tea"),
        {"a.md": "caf\u00e9\n"},
        codes=("NO_MATCH",),
    ),
    Case(
        "two typographic places are ambiguous",
        edit("a.md", "it's", "is"),
        {"a.md": "it\u2019s\nit\u2018s\n"},
        codes=("AMBIGUOUS",),
        says=("typographic",),
    ),
    Case(
        "nearly is not enough",
        edit("a.py", "def compute(a, b, c):", "def compute(a, b):"),
        {"a.py": "def compute(a, b, d): pass\n"},
        codes=("NO_MATCH",),
    ),
]

FILES = [
    Case("a new file", edit("d/n.py", "", "x = 1\n"), {}, {"d/n.py": "x = 1\n"}, ("new_file",)),
    Case("a blank line for an empty SEARCH", edit("n", "\n", "x"), {}, {"n": "x\n"}, ("new_file",)),
    Case("one final newline", edit("n", "", "x\n\n\n\n"), {}, {"n": "x\n"}, ("new_file",)),
    Case("leading blank lines stay", edit("n", "", "\n\nx"), {}, {"n": "\n\nx\n"}, ("new_file",)),
    Case("a new empty file", edit("d/__init__.py", "", ""), {}, {"d/__init__.py": ""}, ("new_file",)),
    Case(
        "a new file of a blank line",
        edit("d/__init__.py", "", "\n"),
        {},
        {"d/__init__.py": ""},
        ("new_file",),
    ),
    Case("an empty file is filled", edit("n", "", "x"), {"n": ""}, {"n": "x\n"}, ("new_file",)),
    Case("a blank file is filled", edit("n", "", "x"), {"n": "\n\n"}, {"n": "x\n"}, ("new_file",)),
    Case("WHOLE makes a file", whole("n", "x\ny\n"), {}, {"n": "x\ny\n"}, ("whole_file",)),
    Case("WHOLE replaces a file", whole("a", "x\n"), {"a": A}, {"a": "x\n"}, ("whole_file",)),
    Case("WHOLE empties a file", whole("a", ""), {"a": A}, {"a": ""}, ("whole_file",)),
    Case("WHOLE does not grow blank lines", whole("a", "x\n\n\n"), {"a": A}, {"a": "x\n"}, ("whole_file",)),
    Case(
        "WHOLE holds dividers", whole("a", "T\n=======\n"), {"a": A}, {"a": "T\n=======\n"}, ("whole_file",)
    ),
    Case("DELETE", delete("a"), {"a": A, "b": A}, {"a": None}, ("delete",)),
    Case("DELETE in a fence", f"```\n{delete('a')}```\n", {"a": A}, {"a": None}, ("delete",)),
    Case("RENAME", rename("a", "d/b c"), {"a": A}, {"a": None, "d/b c": A}, ("rename", "rename")),
    Case(
        "RENAME, then an edit under the new path",
        rename("a", "b") + edit("b", "two", "2"),
        {"a": A},
        {"a": None, "b": "one\n2\nthree\n"},
        ("rename", "rename", "exact"),
    ),
    Case(
        "an edit, then RENAME",
        edit("a", "two", "2") + rename("a", "b"),
        {"a": A},
        {"a": None, "b": "one\n2\nthree\n"},
        ("exact", "rename", "rename"),
    ),
    Case(
        "RENAME changes case",
        rename("A.py", "a.py"),
        {"A.py": ""},
        {"A.py": None, "a.py": ""},
        ("rename", "rename"),
    ),
    Case(
        "two files change places",
        rename("a", "t") + rename("b", "a") + rename("t", "b"),
        {"a": "1\n", "b": "2\n"},
        {"a": "2\n", "b": "1\n"},
        ("rename",) * 6,
    ),
    Case(
        "DELETE, then a new file",
        delete("a") + edit("a", "", "x"),
        {"a": A},
        {"a": "x\n"},
        ("delete", "new_file"),
    ),
    Case(
        "a file gives way to a folder",
        delete("a") + edit("a/b", "", "x"),
        {"a": A},
        {"a": None, "a/b": "x\n"},
        ("delete", "new_file"),
    ),
    Case(
        "a new file, then an edit of it",
        edit("n", "", "x\ny") + edit("n", "y", "z"),
        {},
        {"n": "x\nz\n"},
        ("new_file", "exact"),
    ),
]

SEVERAL = [
    Case(
        "in order, each on what is left",
        edit("a", "two", "2") + edit("a", "2\nthree", "2\n3") + edit("a", "one", "1"),
        {"a": A},
        {"a": "1\n2\n3\n"},
        ("exact",) * 3,
    ),
    Case(
        "from the end to the start",
        edit("a", "three", "3") + edit("a", "one", "1"),
        {"a": A},
        {"a": "1\ntwo\n3\n"},
        ("exact", "exact"),
    ),
    Case(
        "a block makes another's place unique",
        edit("a", "x\na", "y\na") + edit("a", "x", "z"),
        {"a": "x\na\nx\nb\n"},
        {"a": "y\na\nz\nb\n"},
        ("exact", "exact"),
    ),
    Case(
        "a block makes another's place ambiguous",
        edit("a", "b", "x") + edit("a", "x", "z"),
        {"a": "x\na\nb\n"},
        codes=("AMBIGUOUS",),
        says=("lines 1 and 3", "counted after block 1"),
    ),
    Case(
        "files in turns",
        edit("a", "one", "1") + edit("b", "one", "1") + edit("a", "two", "2"),
        {"a": A, "b": A},
        {"a": "1\n2\nthree\n", "b": "1\ntwo\nthree\n"},
        ("exact",) * 3,
    ),
    Case(
        "one bad block stops all",
        edit("a", "one", "1") + edit("b", "none of it", "1") + edit("a", "two", "2"),
        {"a": A, "b": A},
        codes=("NO_MATCH",),
        says=("NO_MATCH b (block 2 of 3)",),
    ),
    Case(
        "every bad block is told",
        edit("a", "nothing", "1") + edit("b", "x", "1") + edit("a", "two", "two"),
        {"a": A},
        codes=("NO_MATCH", "UNKNOWN_PATH", "NO_OP"),
    ),
    Case(
        "a block that built on a bad one says so",
        edit("a", "nothing like it", "word") + edit("a", "word", "w2"),
        {"a": A},
        codes=("NO_MATCH", "NO_MATCH"),
        says=("Block 1 for this file did not apply either",),
    ),
    Case(
        "an edit of what was deleted",
        delete("a") + edit("a", "one", "1"),
        {"a": A},
        codes=("UNKNOWN_PATH",),
        says=("was deleted by block 1",),
    ),
    Case(
        "an edit of what was renamed",
        rename("a", "b") + edit("a", "one", "1"),
        {"a": A},
        codes=("UNKNOWN_PATH",),
        says=('was renamed to "b" by block 1',),
    ),
]

CODES = [
    Case(
        "NO_MATCH shows the closest lines",
        edit("a.py", "        x = 2\n        return x", "        return 1"),
        {"a.py": PY},
        codes=("NO_MATCH",),
        says=(
            "lines 3-4",
            "     3|        x = 1",
            "line 3, column 13",
            'expected "        x = 1"',
            'got "        x = 2"',
        ),
    ),
    Case(
        "NO_MATCH shows a tab",
        edit("a", "if a:\n    run(b)\nend", "x"),
        {"a": "if a:\n\trun(b)\nend\n"},
        codes=("NO_MATCH",),
        says=('expected "\\trun(b)"', "line 2, column 1"),
    ),
    Case(
        "NO_MATCH of nothing alike", edit("a", "@@@@", "x"), {"a": A}, codes=("NO_MATCH",), says=("3 lines",)
    ),
    Case("NO_MATCH in an empty file", edit("a", "q", "x"), {"a": ""}, codes=("NO_MATCH",), says=("empty",)),
    Case(
        "NO_MATCH past the end",
        edit("a", "two\nthree\nfour", "x"),
        {"a": A},
        codes=("NO_MATCH",),
        says=("Closest",),
    ),
    Case(
        "AMBIGUOUS names the lines",
        edit("a", "x", "y"),
        {"a": "x\nb\nx\nc\nx\n"},
        codes=("AMBIGUOUS",),
        says=("at lines 1, 3 and 5", "Add the lines before or after"),
    ),
    Case(
        "AMBIGUOUS overlaps",
        edit("a", "x\nx", "y"),
        {"a": "x\nx\nx\n"},
        codes=("AMBIGUOUS",),
        says=("1 and 2",),
    ),
    Case(
        "AMBIGUOUS a hundred times",
        edit("a", "x", "y"),
        {"a": "x\n" * 100},
        codes=("AMBIGUOUS",),
        says=("more",),
    ),
    Case(
        "ALREADY_APPLIED",
        edit("a", "old two", "two"),
        {"a": A},
        codes=("ALREADY_APPLIED",),
        says=("line 2 already", "Drop this block"),
    ),
    Case(
        "ALREADY_APPLIED with an added line",
        edit("a.py", "import os", "import os\nimport sys"),
        {"a.py": "import os\nimport sys\n"},
        codes=("ALREADY_APPLIED",),
    ),
    Case(
        "a brace is added all the same",
        edit("a.c", "}", "}\n}"),
        {"a.c": "x\n}\n"},
        {"a.c": "x\n}\n}\n"},
        ("exact",),
    ),
    Case(
        "ALREADY_APPLIED by the block before",
        edit("a.py", "import os", "import os\nimport sys") * 2,
        {"a.py": "import os\n"},
        codes=("ALREADY_APPLIED",),
        says=("Block 1 makes the same change",),
    ),
    Case(
        "ALREADY_APPLIED deletion sent twice",
        edit("a", "two", "") * 2,
        {"a": A},
        codes=("ALREADY_APPLIED",),
    ),
    Case(
        "a deletion never looks applied",
        edit("a", "one\nTWO\nthree", "one\nthree"),
        {"a": "one\nthree\nx\n"},
        codes=("NO_MATCH",),
    ),
    Case(
        "a common line elsewhere is no application",
        edit("a.py", "def first(alpha, beta):\n    return alpha * beta", "    return None"),
        {"a.py": "def zero():\n    return None\n\n\ndef first(alpha, beta):\n    return alpha * beta + 1\n"},
        codes=("NO_MATCH",),
        says=("lines 5-6",),
    ),
    Case("ALREADY_APPLIED new file", edit("a", "", A), {"a": A}, codes=("ALREADY_APPLIED",)),
    Case(
        "ALREADY_EXISTS", edit("a", "", "x"), {"a": A}, codes=("ALREADY_EXISTS",), says=("3 lines", "WHOLE")
    ),
    Case(
        "ALREADY_EXISTS with a blank SEARCH",
        edit("a", "\n", "x"),
        {"a": "a\n\nb\n"},
        codes=("ALREADY_EXISTS",),
    ),
    Case(
        "ALREADY_EXISTS by the block before",
        edit("n", "", "x") + edit("n", "", "y"),
        {},
        codes=("ALREADY_EXISTS",),
        says=("Block 1 wrote it",),
    ),
    Case(
        "ALREADY_EXISTS as a rename's target", rename("a", "b"), {"a": A, "b": A}, codes=("ALREADY_EXISTS",)
    ),
    Case("NO_OP", edit("a", "two", "two"), {"a": A}, codes=("NO_OP",)),
    Case("NO_OP not even in the file", edit("a", "xyz", "xyz"), {"a": A}, codes=("NO_OP",)),
    Case("NO_OP WHOLE", whole("a", A), {"a": A}, codes=("NO_OP",)),
    Case("NO_OP RENAME", rename("a", "./a"), {"a": A}, codes=("NO_OP",)),
    Case(
        "NO_OP in the end",
        edit("a", "two", "2") + edit("a", "2", "two"),
        {"a": A},
        codes=("NO_OP",),
        says=("cancel",),
    ),
    Case("NO_OP made and deleted", edit("n", "", "x") + delete("n"), {}, codes=("NO_OP",)),
    Case("NO_OP there and back", rename("a", "b") + rename("b", "a"), {"a": A}, codes=("NO_OP",)),
    Case("NO_OP empty stays empty", edit("n", "", ""), {"n": ""}, codes=("NO_OP",)),
    Case(
        "UNKNOWN_PATH",
        edit("b", "two", "2"),
        {},
        codes=("UNKNOWN_PATH",),
        says=("no file", "leave SEARCH empty"),
    ),
    Case(
        "UNKNOWN_PATH in another folder",
        edit("src/util.py", "x", "y"),
        {"src/lib/util.py": "x\n", "z.py": ""},
        codes=("UNKNOWN_PATH",),
        says=('Did you mean "src/lib/util.py"',),
    ),
    Case(
        "UNKNOWN_PATH with a typing error",
        edit("src/utlis.py", "x", "y"),
        {"src/utils.py": "x\n"},
        codes=("UNKNOWN_PATH",),
        says=('"src/utils.py"',),
    ),
    Case(
        "UNKNOWN_PATH with words before",
        edit("File: src/utils.py", "x", "y"),
        {"src/utils.py": "x\n"},
        codes=("UNKNOWN_PATH",),
        says=('Did you mean "src/utils.py"',),
    ),
    Case(
        "UNKNOWN_PATH with a diff's prefix",
        edit("b/src/utils.py", "x", "y"),
        {"src/utils.py": "x\n"},
        codes=("UNKNOWN_PATH",),
        says=('Did you mean "src/utils.py"',),
    ),
    Case(
        "UNKNOWN_PATH in another case",
        edit("readme.md", "x", "y"),
        {"README.md": "x\n"},
        codes=("UNKNOWN_PATH",),
        says=("README",),
    ),
    Case("UNKNOWN_PATH DELETE", delete("b"), {"a": A}, codes=("UNKNOWN_PATH",)),
    Case("UNKNOWN_PATH RENAME", rename("b", "c"), {"a": A}, codes=("UNKNOWN_PATH",)),
    Case(
        "OMISSION",
        edit("a.py", "x = 1", "x = 2\n# ... rest of code unchanged"),
        {"a.py": "x = 1\ny = 2\n"},
        codes=("OMISSION",),
        says=("# ... rest of code unchanged", "Write every line"),
    ),
    Case(
        "OMISSION in WHOLE",
        whole("a.js", "// ... existing code ...\n"),
        {"a.js": "a()\n"},
        codes=("OMISSION",),
    ),
    Case(
        "OMISSION in a new file",
        edit("n.py", "", "def f():\n    # rest of the code here"),
        {},
        codes=("OMISSION",),
    ),
    Case(
        "a placeholder that stood there may stay",
        edit("a.js", "// ... existing code ...\nb()", "// ... existing code ...\nc()"),
        {"a.js": "// ... existing code ...\nb()\n"},
        {"a.js": "// ... existing code ...\nc()\n"},
        ("exact",),
    ),
    Case(
        "MARKER left by a merge",
        edit("a.txt", "two", "<<<<<<< HEAD\n2\n>>>>>>> branch"),
        {"a.txt": A},
        codes=("MARKER",),
        says=("<<<<<<< HEAD", "left in the new text"),
    ),
    Case("MARKER in WHOLE", whole("a.txt", "x\n>>>>>>> branch\n"), {"a.txt": A}, codes=("MARKER",)),
    Case(
        "MARKER fence in a whole file",
        whole("a.py", "```python\nx = 1\n```"),
        {},
        codes=("MARKER",),
        says=("fence",),
    ),
    Case(
        "resolving a merge's markers",
        edit("a.txt", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> branch", "b", length=9),
        {"a.txt": "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> branch\n"},
        {"a.txt": "b\n"},
        ("exact",),
        marker=9,
    ),
    Case(
        "ENCODING",
        edit("a.txt", "two", "\u4e8c"),
        {"a.txt": "caf\u00e9\ntwo\n".encode("latin-1")},
        codes=("ENCODING",),
        says=("Latin-1", "U+4E8C"),
    ),
    Case(
        "ENCODING of a lone surrogate",
        edit("a.txt", "two", "\ud800"),
        {"a.txt": A},
        codes=("ENCODING",),
        says=("U+D800",),
    ),
    Case("ENCODING of NUL", edit("a.txt", "two", "a\0b"), {"a.txt": A}, codes=("ENCODING",), says=("NUL",)),
    Case(
        "SYNTAX",
        edit("a.py", "        return 2", "        return (2"),
        {"a.py": PY},
        codes=("SYNTAX",),
        says=("7:16", "     7|        return (2", "was never closed"),
    ),
    Case(
        "SYNTAX of Go",
        edit("a.go", "\treturn 1\n}", "\treturn 1"),
        {"a.go": "package a\n\nfunc F() int {\n\treturn 1\n}\n"},
        codes=("SYNTAX",),
        says=("3:14", "     4|\treturn 1", "'{' is never closed"),
    ),
    Case(
        "SYNTAX of what did not parse before",
        edit("a.ts", "let b = 1", "const b = 1"),
        {"a.ts": "let a = (\nlet b = 1\n"},
        {"a.ts": "let a = (\nconst b = 1\n"},
        ("exact",),
    ),
    Case("SYNTAX of a new file", edit("n.json", "", '{"a": 1,}'), {}, codes=("SYNTAX",), says=("1:9",)),
    Case(
        "SYNTAX of a new name",
        rename("a.txt", "a.py"),
        {"a.txt": "a b\n"},
        {"a.txt": None, "a.py": "a b\n"},
        ("rename",) * 2,
    ),
    Case(
        "a file that did not parse may still not",
        edit("a.py", "x = 1", "x = 2"),
        {"a.py": "x = 1\nprint 'a'\n"},
        {"a.py": "x = 2\nprint 'a'\n"},
        ("exact",),
    ),
    Case(
        "SYNTAX is judged at the end",
        edit("a.py", "x = 1", "x = (") + edit("a.py", "y = 1", "1)"),
        {"a.py": "x = 1\ny = 1\n"},
        {"a.py": "x = (\n1)\n"},
        ("exact", "exact"),
    ),
]


@pytest.mark.parametrize("case", EXACT + LADDER + FILES + SEVERAL + CODES, ids=str)
def test_apply(case: Case) -> None:
    check(case)


def test_every_code_is_in_the_table() -> None:
    seen = {code for case in CODES for code in case.codes}
    # POLICY is said of the tree that edits made, not of edits.
    assert seen == {code.value for code in EditCode} - {EditCode.POLICY.value}


def test_problems_are_bounded_in_number_and_length() -> None:
    long = "x" * 5000
    applied = check(
        Case(
            "", edit("a", long + "\n" + long, "y") * 100, {"a": (long + "y\n") * 30}, codes=("NO_MATCH",) * 20
        )
    )
    assert all(len(str(problem)) < 2700 for problem in applied.problems)
    assert sum(len(str(problem)) for problem in applied.problems) < 20_000


def test_repetition_does_not_make_messages_slow_or_places_wrong() -> None:
    # Every line is a candidate of the indent rung, and likeness by characters is at its worst.
    base = "}\n" * 200_000 + "x\n"
    case = Case(
        "", edit("a.c", " }\n" * 500 + "   x", "y"), {"a.c": base}, codes=("NO_MATCH",), says=("Closest",)
    )
    check(case)


def test_a_block_may_not_be_huge() -> None:
    check(Case("", edit("a", "two", "x" * 1_000_001), {"a": A}, codes=("MARKER",), says=("smaller blocks",)))


def test_a_result_may_not_be_huge() -> None:
    big = ("x" * 99 + "\n") * 45_000
    answer = edit("a", "first", ("y" * 99 + "\n") * 9_000)
    check(Case("", answer, {"a": "first\n" + big}, codes=("ENCODING",), says=("5000000",)))


def test_a_huge_base_is_left_alone() -> None:
    check(
        Case(
            "", edit("a", "b", "c"), {"a": b"x" * 5_000_001}, codes=("UNKNOWN_PATH",), says=("5000001 bytes",)
        )
    )


def test_the_closest_lines_of_a_long_file_are_found() -> None:
    lines = [f"value_{i} = compute({i})" for i in range(30_000)]
    answer = edit("a", "value_25000 = compute(25000)\nvalue_25001 = compute(-1)", "x")
    check(
        Case(
            "", answer, {"a": "\n".join(lines)}, codes=("NO_MATCH",), says=("lines 25001-25002", "line 25002")
        )
    )


@pytest.mark.parametrize(
    ("answer", "codes"),
    [
        pytest.param(whole("seen", "x\n"), [], id="shown"),
        pytest.param(whole("unseen", "x\n"), [EditCode.OMISSION], id="not shown"),
        pytest.param(whole("fresh", "x\n"), [], id="not there"),
        pytest.param(whole("blank", "x\n"), [], id="nothing in it"),
        pytest.param(edit("unseen", "two", "2"), [], id="a block"),
        pytest.param(delete("unseen"), [], id="to be deleted"),
        pytest.param(edit("fresh", "", "y") + whole("fresh", "x\n"), [], id="made by the answer itself"),
        pytest.param(
            delete("unseen") + whole("unseen", "x\n"), [EditCode.OMISSION], id="by way of a deletion"
        ),
        pytest.param(
            edit("unseen", "two", "2") + whole("unseen", "x\n"), [EditCode.OMISSION], id="after a block"
        ),
        pytest.param(
            rename("unseen", "seen2") + whole("seen2", "x\n"), [EditCode.OMISSION], id="under a new name"
        ),
    ],
)
def test_a_file_that_was_not_shown_whole_is_not_written_whole(answer: str, codes: list[EditCode]) -> None:
    """What the model never saw would be lost without anybody having decided it."""
    files = tree({"seen": A, "unseen": f"{A}four\n", "blank": "\n"})
    applied = apply_answer(parse_answer(answer), files, shown={"seen"})
    assert [problem.code for problem in applied.problems] == codes
    assert bool(applied.changes) is not bool(codes)
    assert apply_answer(parse_answer(answer), files).problems == ()


def test_every_reason_is_in_the_table_and_used() -> None:
    folder = Path(paths.__file__).parent
    used = {
        key
        for file in folder.glob("*.py")
        for key in re.findall(r"""(?:BlockRefused\(\s*|if seven else )"(\w+)\"""", file.read_text("utf-8"))
    }
    assert used == set(table("navigator.edits", "problems.toml"))
