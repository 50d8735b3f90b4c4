"""What the documentation says can be typed: the commands of its console blocks and of its sentences."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "local_aws" / "README.md",
        *ROOT.glob("docs/**/*.md"),
    ]
)
ELLIPSES = ("…", "...")


def console_lines(page: Path) -> Iterator[str]:
    """The commands of the page's console blocks, in order, each as one line."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        whole = re.sub(r"\\\n\s*", " ", block)
        yield from (line.removeprefix("$ ") for line in whole.splitlines() if line.startswith("$ "))


def words_of(line: str) -> list[str]:
    """The command of a line: no variables before it, no comment, no redirection."""
    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"[A-Za-z_]+=.*", words[0], re.DOTALL):
        del words[0]
    for index, word in enumerate(words):
        if word[:1] in "<>|&;":
            del words[index:]
            break
    return [words[0].removeprefix(".venv/bin/"), *words[1:]] if words else []


def inline_commands(page: Path, program: str) -> Iterator[list[str]]:
    """Those of `program` in the page's sentences, as words; left out are those that are cut short."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for text in re.findall(rf"`({re.escape(program)} [^`]+)`", prose):
        if not any(ellipsis in text for ellipsis in ELLIPSES):
            yield words_of(" ".join(text.split()))


def console_commands(page: Path, program: str) -> list[list[str]]:
    """Those of `program` in the page's console blocks, as words."""
    return [words for words in map(words_of, console_lines(page)) if words[:1] == [program]]
