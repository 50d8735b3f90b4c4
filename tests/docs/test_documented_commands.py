"""The commands that the pages show run, as far as this machine alone can run them."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest
import urllib3
from click.testing import CliRunner

from semif.cli import COMMANDS, main
from tests.support.pages.documented import PAGES, ROOT, console_lines, words_of

SHOWN_URL = "http://127.0.0.1:8080"
"""Where the pages say that `make serve` listens."""
TASKS = 4
"""About so many of the labelled tasks are asked."""
TICKETS = slice(1, None, 5)
"""Of the lines of llm-tickets.csv after the first."""
HERE = {
    *("env", "iam", "model list", "model show", "model build"),
    *("evaluate report", "evaluate compare", "evaluate baseline", "evaluate import"),
}
"""Commands that need nothing, or what the page's commands before made."""
HERE_ON = {"coming-from-an-llm.md": {"calibrate thresholds"}}
"""The same, of one page: it asks what they need."""
AT_A_URL = {"decide", "size", "evaluate run", "evaluate wordings"}
"""Commands that need an adapter, where they name one; an AWS account otherwise."""
ELSEWHERE = {
    "serve": "what the adapter of these tests is started with",
    **dict.fromkeys(
        ("demo", "deploy", "status", "logs", "destroy", "build", "ask", "batch", "submit", "verify"),
        "AWS; tests/e2e",
    ),
    **dict.fromkeys(("diff", "promote", "prune", "rollback"), "AWS"),
    **dict.fromkeys(("evaluate captured", "evaluate answered"), "AWS; test_captured.py"),
    "calibrate": "takes 50 answers at least; test_calibrate_fit.py asks and fits as many",
    "image": "a registry",
    **dict.fromkeys(("model pin", "model pin-checkpoint"), "Hugging Face"),
    "model register": "AWS; test_model_registry.py registers with moto",
    "init": "test_installed.py begins a project from the wheel",
    "model adopt": "another project's archive; test_adopt.py makes one",
}
"""Why the others do not run here; test_documentation.py parses them."""


@pytest.fixture
def url(short_url: str) -> str:
    return short_url


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like the checkout, in which commands may write, with fewer of the labelled tasks."""
    for name in ("environments", "models", "adapter_image"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "examples").mkdir()
    for example in (ROOT / "examples").iterdir():
        (tmp_path / "examples" / example.name).symlink_to(example)
    labelled = tmp_path / "examples" / "labelled.jsonl"
    tasks = labelled.read_text().splitlines(keepends=True)
    labelled.unlink()
    labelled.write_text("".join(tasks[:: len(tasks) // TASKS]))
    tickets = tmp_path / "examples" / "llm-tickets.csv"
    first, *rows = tickets.read_text().splitlines(keepends=True)
    tickets.unlink()
    tickets.write_text("".join([first, *rows[TICKETS]]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_here(page: Path) -> list[str]:
    return [line for line in console_lines(page) if runs_here(line, page.name)]


def runs_here(line: str, page: str) -> bool:
    program, *words = words_of(line) or [""]
    if program == "curl":
        return SHOWN_URL in line
    if program != "semif" or "--account" in words:
        return False
    named = {words[0], " ".join(words[:2])}
    return bool(named & (HERE | HERE_ON.get(page, set())) or (named & AT_A_URL and SHOWN_URL in line))


PAGES_THAT_RUN = list(filter(lines_here, PAGES))


@pytest.mark.parametrize("page", PAGES_THAT_RUN, ids=lambda page: page.name)
def test_the_pages_commands_run(page: Path, url: str, project: Path) -> None:
    for line in lines_here(page):
        program, *words = words_of(line.replace(SHOWN_URL, url))
        if program == "curl":
            assert curl(words) == 200, line
        else:
            result = CliRunner().invoke(main, words)
            assert result.exit_code == 0, f"{line}\n{result.output}"


def test_the_readmes_program_runs(embedded_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(program.replace(SHOWN_URL, embedded_url), {})
    assert capsys.readouterr().out.startswith("billing 0.")


def curl(words: list[str]) -> int:
    """The status of the reply to what a curl command asks."""
    (address,) = [word for word in words if word.startswith("http")]
    options = dict(pairwise(words))
    data = next((options[name] for name in ("-d", "--data", "--data-binary") if name in options), None)
    body = Path(data[1:]).read_bytes() if data and data.startswith("@") else data
    name, _, value = next(options[name] for name in ("-H", "--header") if name in options).partition(": ")
    reply = urllib3.request("POST" if data else "GET", address, body=body, headers={name: value}, timeout=60)
    return int(reply.status)


def test_the_readmes_first_commands_are_among_them() -> None:
    shown = [line for page in PAGES_THAT_RUN for line in lines_here(page)]
    assert any(re.match(rf"semif decide --url {SHOWN_URL} examples/routing.json", line) for line in shown)
    assert any(line.startswith("curl ") for line in shown)


def test_of_every_command_it_is_known_whether_it_runs_here() -> None:
    known = HERE | AT_A_URL | ELSEWHERE.keys()
    assert [path for path in command_paths() if not {path, path.split()[0]} & known] == []


def command_paths() -> Iterator[str]:
    """As they are typed, without their group where they are in none."""
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        yield from (
            (f"{name} {below}" for below in command.commands) if isinstance(command, click.Group) else [name]
        )
