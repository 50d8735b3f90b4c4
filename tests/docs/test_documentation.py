"""What the pages name is there: commands with their options, targets, modules, links, pictures, settings."""

import contextlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from docs.reference import PAGE, reference
from semif.cli import main
from tests.support.pages.documented import PAGES, ROOT, console_commands, inline_commands

NAMES = {
    "ENV": "demo", "NAME": "demo", "PRESET": "embedded", "N": "4", "T": "100", "DIR": "folder",
    "FILE": "examples/routing.json",
}  # fmt: skip
"""What stands for a name in the pages, and a value that it may have."""


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def find(words: list[str]) -> tuple[click.Command, list[str], click.Context]:
    """The command that `semif` and `words` name, and what is left for it."""
    command: click.Command = main
    context = click.Context(main, info_name="semif")
    while isinstance(command, click.Group) and words:
        below = command.get_command(context, words[0])
        assert below is not None, f"there is no command {words[0]}"
        context = click.Context(below, info_name=words[0], parent=context)
        command, words = below, words[1:]
    return command, words, context


def check(words: list[str]) -> None:
    """Raise what click raises for options that there are not, and for arguments too many or too few."""
    command, arguments, context = find(words)
    is_name = isinstance(command, click.Group)  # a group's, of which a command would come next
    if not is_name and not {"--help", "[OPTIONS]"} & {*arguments}:  # [OPTIONS]: the reference's headings
        given = [NAMES.get(argument, argument) for argument in arguments]
        command.make_context(context.info_name, given, parent=context.parent)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_command_has_its_options_and_arguments(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for _, *words in console_commands(page, "semif"):
        check(words)
    for _, *words in inline_commands(page, "semif"):
        # A sentence may name a command, or an option of it, and leave the rest out.
        with contextlib.suppress(click.MissingParameter):
            check(words)


@pytest.mark.parametrize(
    "wrong",
    [
        ["decode", "demo"],
        ["env", "shown", "demo"],
        ["decide", "demo", "--no-such"],
        ["env", "show", "a", "b"],
    ],
)
def test_a_command_that_is_not_there_would_be_found(wrong: list[str]) -> None:
    with pytest.raises((AssertionError, click.UsageError)):
        check(wrong)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_target_and_module_is_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for _, *words in [*console_commands(page, "make"), *inline_commands(page, "make")]:
        assert {word for word in words if re.fullmatch("[a-z-]+", word)} <= targets
    for program in ("python", ".venv/bin/python"):
        for words in [*console_commands(page, program), *inline_commands(page, program)]:
            if words[1:2] == ["-m"]:
                assert importlib.util.find_spec(words[2]), words
            elif words[1].endswith(".py"):
                assert (ROOT / words[1]).exists(), words


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for path, place in links(page):
        file = page.parent / path
        assert file.exists(), path
        if place:
            assert place in anchors(file), f"{path}#{place}"


def links(page: Path) -> Iterator[tuple[str, str]]:
    """File and heading of the page's links into the project."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not re.match(r"https?://", target):
            path, _, place = target.partition("#")
            yield path or page.name, place


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_picture_is_shown_somewhere() -> None:
    shown = "".join(page.read_text() for page in PAGES)
    for picture in (ROOT / "docs" / "images").iterdir():
        assert f"images/{picture.name}" in shown, picture


def test_every_page_is_found_from_the_readme() -> None:
    found, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        found.add(page)
        for target in {(page.parent / path).resolve() for path, _ in links(page)}:
            linked = target / "README.md" if target.is_dir() else target
            if linked.suffix == ".md" and linked not in found:
                waiting.append(linked)
    assert set(PAGES) <= found


def commands(command: click.Command, path: str = "semif") -> Iterator[tuple[str, click.Command]]:
    """The command and all below it, by what is typed."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from commands(below, f"{path} {name}")


def test_every_help_shows_whole_summaries_and_an_example() -> None:
    for path, command in commands(main):
        shown = command.get_help(click.Context(command, info_name=path, terminal_width=80))
        assert "...\n" not in shown.partition("\nCommands:")[2] + "\n", path
        if not isinstance(command, click.Group):
            examples = shown.partition("Example")[2].partition("\nOptions:")[0]
            assert f"  {path}" in examples, path
            assert not re.search(r"\S   +--", examples), path  # a backslash was lost


def test_the_reference_is_what_the_types_say() -> None:
    assert PAGE.read_text() == reference(), "run `make reference`"
