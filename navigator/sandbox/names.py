"""Which tests failed, by name, from what known test runners print.

A name is only used to tell one run from another of the same command, so it need not be one that the runner takes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from navigator.model import patterns

MOST_NAMES = 2_000
_LONGEST = 300
_ENDING = 40
"""Characters at the end of a name in which a duration is looked for."""

_ANSI = patterns.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_DURATION = patterns.compile(r"\s*[\[(]?\b\d+(?:[.,]\d+)?\s?(?:ms|s|sec|seconds|m)\b[\])]?\s*$")


LONGEST_LINE = 1_000
"""Characters of a line that are read: names of tests are shorter, and no pattern below is slow on so few."""

MOST_LINES = 100_000
"""Lines that are read, half of them from the beginning of an output and half from its end."""


def plain(output: str) -> str:
    """Output without colours and without lines that were drawn over; long lines and very long outputs are cut.

    Everything below reads what this returns: it is what bounds the time.
    """
    lines = _ANSI.sub("", output).replace("\r\n", "\n").split("\n")
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines[half:-half] = [f"[… {len(lines) - 2 * half} lines …]"]
    return "\n".join(map(_last_drawn, lines))


def _last_drawn(line: str) -> str:
    """What a terminal shows of a line: what follows its last carriage return, as far as it is read."""
    start = line.rfind("\r", 0, len(line) - 1) + 1
    if len(line) - start <= LONGEST_LINE:
        return line[start:]
    return f"{line[start : start + LONGEST_LINE]}…"


def failing_tests(text: str) -> tuple[str, ...]:
    """The names of tests that failed, sorted, once each; empty where `text`, which `plain` made, names none."""
    lines = text.split("\n")
    found: dict[str, None] = {}
    for reader in _READERS:
        for name in reader(lines):
            cleaned = " ".join((name[:-_ENDING] + _DURATION.sub("", name[-_ENDING:])).split())[:_LONGEST]
            if cleaned:
                found[cleaned] = None
            if len(found) >= MOST_NAMES:
                break
    return tuple(sorted(found))


_PYTEST = patterns.compile(r"(?:FAILED|ERROR) ((?:[^\s:]+\.\w+)(?:::.*?)?)(?: - .*)?")
_UNITTEST = patterns.compile(r"(?:FAIL|ERROR): (\S+) \(([\w.<>]+)\)(.*)")
_CARGO = patterns.compile(r"test (\S.*?)(?: - should panic)? \.\.\. FAILED")
_CARGO_DOC = patterns.compile(r"test (\S.*? \(line \d+\))(?: - compile.*)? \.\.\. FAILED")
_RUST_ERROR = patterns.compile(r"error(?:\[E\d+\])?: could not compile `([^`]+)`(?: \((.*?)\))?.*")
_GO = patterns.compile(r"\s*--- FAIL: (\S+)(?: \(.*\))?")
_GO_PACKAGE = patterns.compile(r"(FAIL|ok|\?)\s+(\S+)(?:\s+(?:[\d.]+s|\(cached\)|\[.*\]).*)")
_TAP = patterns.compile(r"(\s*)not ok \d+(?: -)? ?(.*)")
_TAP_OPEN = patterns.compile(r"(\s*)# Subtest: (.*)")
_NODE_SPEC = patterns.compile(r"(\s*)✖ (.+)")
_JEST = patterns.compile(r"\s*● (.+ › .+|.+)")
_JEST_FILE = patterns.compile(r"\s*FAIL\s+(\S+\.\w+)(?: \(.*\))?\s*")
_VITEST = patterns.compile(r"\s*(?:FAIL|×)\s+(?:\|.*?\|\s+)?(\S+\.\w+ > .+)")
_MOCHA = patterns.compile(r"\s{2}(\d+)\) (.+)")
_RSPEC = patterns.compile(r"rspec (\S+(?::\d+|\[[\d:]+\]))(?: # (.*))?")
_GRADLE = patterns.compile(r"(\S.*) FAILED")
_MAVEN = patterns.compile(r"\[ERROR\]\s+([\w.$]+[.:][\w\[\]]+)(?::\d+.*| -- .*|\s+<<<.*| » .*)")
_PHPUNIT = patterns.compile(r"\d+\) ([\w\\]+::\S+.*)")
_DOTNET = patterns.compile(r"\s+Failed (\S.*) \[[^\[\]]*\]")
_CTEST = patterns.compile(r"\s+\d+ - (\S.*) \((?:Failed|Timeout|SEGFAULT|Not Run|[^()]*\*\*\*[^()]*)\)")
_BATS = patterns.compile(r" ✗ (.+)")


def _each(
    pattern: patterns.Pattern[str], name: Callable[[patterns.Match[str]], str]
) -> Callable[[list[str]], Iterator[str]]:
    def read(lines: list[str]) -> Iterator[str]:
        for line in lines:
            match = pattern.fullmatch(line.rstrip())
            if match is not None:
                yield name(match)

    return read


def _unittest(match: patterns.Match[str]) -> str:
    method, where, rest = match[1], match[2], match[3]
    # Python 3.11 and later name the method in both places.
    name = where if where.endswith(f".{method}") else f"{where}.{method}"
    return f"{name}{rest}" if rest.strip() else name


def _go(lines: list[str]) -> Iterator[str]:
    """Go names the package after its tests."""
    waiting: list[str] = []
    for line in lines:
        if match := _GO.fullmatch(line.rstrip()):
            waiting.append(match[1])
        elif match := _GO_PACKAGE.fullmatch(line.rstrip()):
            if match[1] == "FAIL":
                yield from (f"{match[2]}.{name}" for name in waiting)
                if not waiting:
                    yield match[2]
            waiting = []
    yield from waiting


def _tap(lines: list[str]) -> Iterator[str]:
    """TAP, nested as node writes it: a failing group repeats what failed in it, and is named only if nothing did."""
    above: dict[int, str] = {}
    named: list[tuple[int, str]] = []
    for line in lines:
        if match := _TAP_OPEN.fullmatch(line.rstrip()):
            above = {depth: name for depth, name in above.items() if depth < len(match[1])}
            above[len(match[1])] = match[2]
        elif match := _TAP.fullmatch(line.rstrip()):
            depth, said = len(match[1]), match[2]
            if patterns.search(r"#\s*(?:todo|skip)\b", said, patterns.IGNORECASE):
                continue
            path = [name for at, name in sorted(above.items()) if at < depth]
            if any(at > depth and said in name for at, name in named):
                continue
            named.append((depth, " > ".join([*path, said.partition(" # ")[0]])))
            if len(named) >= MOST_NAMES:
                break
    yield from (name for _, name in named)


def _node_spec(lines: list[str]) -> Iterator[str]:
    """Node's own reporter says every failure twice, the second time in a list at the end."""
    start = next((at for at, line in enumerate(lines) if line.strip() == "✖ failing tests:"), None)
    if start is None:
        return
    for line in lines[start + 1 :]:
        match = _NODE_SPEC.fullmatch(line.rstrip())
        if match is not None and not match[1]:
            yield match[2]


def _jest(lines: list[str]) -> Iterator[str]:
    """`● suite › test` below `FAIL file`; a suite that does not run has only its file."""
    file = ""
    seen = False
    for line in lines:
        if match := _JEST_FILE.fullmatch(line.rstrip()):
            if file and not seen:
                yield file
            file, seen = match[1], False
        elif file and (match := _JEST.fullmatch(line.rstrip())):
            if match[1].startswith("Console") or match[1].startswith("Cannot log"):
                continue
            seen = True
            yield file if "failed to run" in match[1] else f"{file} › {match[1]}"
    if file and not seen:
        yield file


def _mocha(lines: list[str]) -> Iterator[str]:
    """The list at the end: a number, then the suites and the test, each deeper than the one before."""
    start = next((at for at, line in enumerate(lines) if patterns.fullmatch(r"\s+\d+ failing", line)), None)
    if start is None:
        return
    at = start + 1
    while at < len(lines):
        match = _MOCHA.fullmatch(lines[at].rstrip())
        at += 1
        if match is None:
            continue
        parts = [match[2]]
        while at < len(lines) and lines[at].strip() and not parts[-1].endswith(":"):
            parts.append(lines[at].strip())
            at += 1
        yield " ".join(parts).rstrip(":")


_READERS: tuple[Callable[[list[str]], Iterator[str]], ...] = (
    _each(_PYTEST, lambda m: m[1]),
    _each(_UNITTEST, _unittest),
    _each(_CARGO_DOC, lambda m: m[1]),
    _each(_CARGO, lambda m: m[1]),
    _each(_RUST_ERROR, lambda m: f"{m[1]} ({m[2] or 'build'}) does not compile"),
    _go,
    _tap,
    _node_spec,
    _each(_VITEST, lambda m: m[1]),
    _jest,
    _mocha,
    _each(_RSPEC, lambda m: m[2] or m[1]),
    _each(_GRADLE, lambda m: m[1] if " > " in m[1].removesuffix(" > ") else ""),
    _each(_MAVEN, lambda m: m[1]),
    _each(_PHPUNIT, lambda m: m[1]),
    _each(_DOTNET, lambda m: m[1]),
    _each(_CTEST, lambda m: m[1]),
    _each(_BATS, lambda m: m[1]),
)

_COUNTS: tuple[tuple[patterns.Pattern[str], patterns.Pattern[str] | None], ...] = (
    (patterns.compile(r"^test result: \w+\. (\d+) passed"), None),  # cargo: one line a binary
    (patterns.compile(r"^Ran (\d+) tests? in "), patterns.compile(r"^FAILED \((.*)\)$")),
    (patterns.compile(r"^\s*Tests:?\s+(?:.*?[,|] )?(\d+) passed"), None),  # jest, vitest
    (patterns.compile(r"^[#ℹ] pass (\d+)$"), None),  # node
    (patterns.compile(r"^\s+(\d+) passing(?: \(.*\))?$"), None),  # mocha
    (patterns.compile(r"^=*\s*(?:.*?, )?(\d+) passed\b.* in [\d.]+s.*"), None),  # pytest
)


def passed_count(text: str) -> int | None:
    """How many tests the runner says passed; None where `text`, which `plain` made, does not say."""
    lines = text.split("\n")
    for pattern, failed in _COUNTS:
        found = [int(match[1]) for line in lines if len(line) < 500 and (match := pattern.match(line))]
        if not found:
            continue
        total = sum(found)
        if failed is not None:
            for line in lines:
                if match := failed.match(line):
                    total -= sum(int(n) for n in patterns.findall(r"(?:failures|errors)=(\d+)", match[1]))
        return max(0, total)
    return None


_NONE_SAID = patterns.compile(
    r"^=*[ \t]*(?:no tests (?:ran|collected)"
    r"|\d+ (?:deselected|warnings?)(?:, \d+ (?:deselected|warnings?))*) in [\d.]+s"  # pytest
    r"|^Ran 0 tests in |^NO TESTS RAN$"  # unittest
    r"|^No tests? (?:files? )?found\b"  # jest, vitest
    r"|^No tests executed!|^No tests were found!!!|^No test (?:modules found|is available)\b",  # phpunit, ctest, deno, dotnet
    patterns.MULTILINE,
)
_ZERO = patterns.compile(
    r"^test result: ok\. 0 passed; 0 failed\b"  # cargo
    r"|^ok[ \t]+\S+[ \t].*\[no tests to run\]$|^\?[ \t]+\S+[ \t]+\[no test files\]$"  # go
    r"|^[#ℹ] tests 0$|^[ \t]+0 passing\b|^0 examples, 0 failures\b|^[ \t]*Tests:[ \t]+0 total$",  # node, mocha, rspec, jest
    patterns.MULTILINE,
)
_SOME = patterns.compile(
    r"(?:^|[^\w.-])[1-9]\d*[ \t]+(?:tests? )?(?:passed|passing|pass|skipped|pending|failed|xfailed|xpassed|errors?|examples?|ok)"
    r"\b"
    r"|^Ran [1-9]\d* tests? in |^[#ℹ] tests [1-9]|^Tests run: [1-9]|^OK \([1-9]",
    patterns.MULTILINE,
)
_GO_OK = patterns.compile(r"^ok[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))(.*)$", patterns.MULTILINE)


def none_ran(text: str, *, ended_well: bool = True) -> bool:
    """Whether an output says in so many words that no test ran, and nothing in it says that one did.

    Args:
        text: what `plain` made of the output.
        ended_well: whether the exit status was 0. Else only the words of runners that fail where they find no test count.
    """
    said = _NONE_SAID.search(text) is not None or (ended_well and _ZERO.search(text) is not None)
    some = _SOME.search(text) or any("[no tests" not in match[1] for match in _GO_OK.finditer(text))
    return said and not some
