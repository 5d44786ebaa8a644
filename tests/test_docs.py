"""What the documentation names exists: links, commands with their options, settings, and the glossary's form."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from navigator.cli.main import cli
from navigator.config.settings import Settings, load_settings

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "engines/*.md", "swap/*.md")
    for path in ROOT.glob(pattern)
    if path.name != "CHANGELOG.md"
)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_KEY = re.compile(r"`\[([a-z_.]+)\]`?\s+`?([a-z_]+)`")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The ids that GitHub gives to a page's headings."""
    prose = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_names_exists(page: Path, tmp_path: Path) -> None:
    links_lead_somewhere(page)
    commands_and_options_exist(page)
    settings_are_accepted(page, tmp_path / "config.toml")
    keys_exist(page)


def links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def command_lines(page: Path) -> Iterator[str]:
    """What the page tells a reader to run, and every command it names between backticks."""
    text = page.read_text(encoding="utf-8")
    for _, body in _BLOCK.findall(text):
        yield from re.findall(r"^(?:\$ )?(?:\.venv/bin/)?(navigator .+)$", body, re.MULTILINE)
    for code in _CODE.findall(_BLOCK.sub("", text)):
        if code.startswith("navigator "):
            yield code


def words_of(line: str) -> list[str]:
    """A command line's words; what follows a `#` is a remark."""
    words = shlex.split(line.partition(" # ")[0].split(";")[0].replace("…", ""), comments=True)
    return words[1:]


def commands_and_options_exist(page: Path) -> None:
    for line in command_lines(page):
        command: click.Command = cli
        words = words_of(line)
        while words and isinstance(command, click.Group) and re.fullmatch(r"[a-z][a-z-]*", words[0]):
            found = command.get_command(click.Context(command), words[0])
            assert found is not None, f"{line}: there is no command {words[0]}"
            command, words = found, words[1:]
        options = {option for parameter in command.params for option in parameter.opts}
        options |= {"--help", "--version"}
        for word in words:
            if word.startswith("--") and len(word) > 2:
                assert word.partition("=")[0] in options, f"{line}: there is no option {word}"


def settings_are_accepted(page: Path, file: Path) -> None:
    for language, body in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "toml" and "[keys]" not in body:
            file.write_text(body, encoding="utf-8")
            load_settings(file)


def keys_exist(page: Path) -> None:
    for table, key in _KEY.findall(page.read_text(encoding="utf-8")):
        section: object = Settings()
        for part in table.split("."):
            assert hasattr(section, part), f"[{table}] {key}"
            section = getattr(section, part)
        assert hasattr(section, key), f"[{table}] {key}"


def commands(command: click.Command, name: str = "navigator") -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for part in command.list_commands(context):
            found = command.get_command(context, part)
            assert found is not None
            yield from commands(found, f"{name} {part}")


def test_a_missing_argument_is_named() -> None:
    asked = []
    for name, command in commands(cli):
        needed = [one for one in command.params if isinstance(one, click.Argument) and one.required]
        if needed:
            with pytest.raises(click.MissingParameter) as refused:
                command.make_context(name, [])
            assert refused.value.param is needed[0]
            asked.append(name)
    assert {"navigator export", "navigator project show", "navigator swap to"} <= set(asked)


def test_every_command_and_every_option_is_explained_once() -> None:
    for name, command in commands(cli):
        assert command.help, name
        options = [each for each in command.params if isinstance(each, click.Option)]
        spelled = [word for each in options for word in each.opts]
        assert len(set(spelled)) == len(spelled), name
        assert [each.opts for each in options if not each.help and not each.hidden] == [], name


def test_the_documentation_stays_small() -> None:
    """What repeats another page, and history, goes before something is added."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert sum(words.values()) <= 26_000, words


def test_the_glossary_is_a_list_of_terms_with_one_short_paragraph_each() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    _, *entries = re.split(r"^## ", text, flags=re.MULTILINE)
    terms = [entry.partition("\n")[0] for entry in entries]
    assert 40 < len(terms) <= 70
    assert len(set(terms)) == len(terms)
    for entry in entries:
        paragraph = entry.partition("\n")[2].strip()
        assert 0 < len(paragraph) < 320, entry
        assert "\n" not in paragraph, entry
