"""How a developer would ask for what the rules can do, in several ways each."""

from __future__ import annotations

from dataclasses import dataclass

from navigator.domain.states import TaskKind


@dataclass(frozen=True, slots=True)
class Wording:
    """Texts for one sort of work, over `{file}` and `{path}`; `pattern` finds the work in a file with that suffix."""

    suffix: str
    pattern: str
    kind: TaskKind
    texts: tuple[str, ...]


WORDINGS: tuple[Wording, ...] = (
    Wording(
        ".py", r"[!=]= None\b", TaskKind.FIX,
        (
            "Compare with None by identity in {file}\n\nEvery `== None` and `!= None` in {path} has to go.",
            "Use `is None` in {file} instead of comparing None with ==",
            "Fix the comparisons to None in {path}",
        ),
    ),
    Wording(
        ".py", r"def .*=(\[\]|\{\})", TaskKind.FIX,
        (
            "Remove mutable default arguments from {file}\n\nA list or dict in a signature is shared by all calls.",
            "Mutable default arguments in {path}: make them None with a guard",
        ),
    ),
    Wording(
        ".py", r"^\s*except:", TaskKind.FIX,
        (
            "No bare except in {file}\n\nCtrl+C has to get through; errors are handled as before.",
            "Replace every bare except in {path}",
        ),
    ),
    Wording(
        ".py", r"(?<!\w)open\([^)]*\)|read_text\(\)", TaskKind.FIX,
        (
            "Name the encoding where {file} opens text files\n\nUTF-8 everywhere; on some machines the default differs.",
            "Open files in {path} with an explicit encoding",
        ),
    ),
    Wording(
        ".py", r"type\(\w+\) [!=]=", TaskKind.REFACTOR,
        (
            "Use isinstance in {file} instead of comparing types",
            "Type checks in {path} should accept subclasses: isinstance",
        ),
    ),
    Wording(
        ".py", r"\bin [\w.]+\.keys\(\)(:| or| and|$)", TaskKind.REFACTOR,
        (
            "Drop the needless `.keys()` in {file}",
            "Ask and walk the mapping itself in {path}, without keys()",
        ),
    ),
    Wording(
        ".py", r"logger\.warn\(", TaskKind.REFACTOR,
        (
            "Replace logger.warn in {file}\n\nThe old name of the method is gone from Python 3.13.",
            "{path} calls the deprecated name of a logging method; use warning",
        ),
    ),
    Wording(
        ".py", r"raise NotImplemented\b", TaskKind.FIX,
        (
            "Raise NotImplementedError in {file}",
            "{path} raises NotImplemented, which is no exception; fix it",
        ),
    ),
    Wording(
        ".py", r"urlopen\(\w+|requests\.(get|post)\(", TaskKind.SECURITY,
        (
            "Give the network calls in {file} a timeout",
            "A silent server must not hold us: timeouts in {path}",
        ),
    ),
    Wording(
        ".py", r"yaml\.load\(", TaskKind.SECURITY,
        (
            "Load YAML safely in {file}",
            "Untrusted plans reach {path}: use safe_load",
        ),
    ),
    Wording(
        ".py", r"def [a-z]\w+\(.*\):\n\s+[^\"\s]", TaskKind.DOCS,
        (
            "Docstrings for the public functions of {file}",
            "Document every public function in {path}: parameters and errors",
        ),
    ),
    Wording(
        ".py", r"def (remove|add|put|drop|emit|subscribe|push|clear|stop|save_settings|write_\w+|forget)\(", TaskKind.IMPLEMENT,
        (
            "Annotate what returns nothing in {file} with -> None",
            "Return annotations in {path} for everything that returns nothing",
        ),
    ),
    Wording(
        ".py", r"^def [a-z]\w+\(", TaskKind.TEST,
        (
            "Add an interface test for {file}\n\nNames and parameters of the public functions are promised to others.",
            "Write a test that pins the public interface of {path}",
        ),
    ),
    Wording(
        ".md", r"^##?\w", TaskKind.DOCS,
        (
            "Put the headings of {file} in order",
            "Headings in {path}: a space after the hashes and blank lines around",
        ),
    ),
    Wording(
        ".md", r"^(```|~~~)$", TaskKind.DOCS,
        (
            "Say in {file} which language each code block is in",
            "Code blocks in {path} need a language",
        ),
    ),
    Wording(
        ".md", r"(?<![(\[<])https?://", TaskKind.DOCS,
        (
            "Make the bare URLs in {file} links",
            "Bare links in {path} are not clickable everywhere; write them as links",
        ),
    ),
    Wording(
        ".md", r"\S[ \t]+$", TaskKind.DOCS,
        (
            "Trailing spaces out of {file}",
            "Clean up trailing whitespace in {path}",
        ),
    ),
    Wording(
        ".py", r"def ", TaskKind.REFACTOR,
        (
            "Tidy {file}: the one thing in it that a reader would stumble over first",
            "Make {path} a little safer without changing what it does",
        ),
    ),
)  # fmt: skip
