"""`semif serve`: the adapter on this machine."""

import os
import shlex
import sys
from pathlib import Path

import click

from semif.cli.progress import progress_on_stderr
from semif.errors import SemifError, shown
from semif.project.root import presets_root
from semif.serve.local_adapter import adapter_environment, is_own_name


@click.command()
@click.argument("model", metavar="PRESET|GGUF")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8080, show_default=True, help="Port to listen on."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--ui", is_flag=True, help="Add a page to try the model in a browser; on this machine alone.")
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A calibration (semif calibrate fit) to try, instead of the preset's.",
)
def command(model: str, port: int, host: str, ui: bool, calibration: Path | None) -> None:
    """Serve a model on this machine.

    Serves a preset's model, or a GGUF file, until Ctrl-C. The program is the one that runs in the
    container. A preset's file is fetched and its SHA-256 verified first. SEMIF_* variables
    (SEMIF_THREADS=4) set what the container can be set to.

    With --ui the address shows a page in a browser: write a state, a question and options, and see the
    probabilities move. The container has no such page.

    \b
    Examples:
      semif serve embedded
      semif serve embedded --ui
      semif serve ~/models/Qwen3.5-0.8B-Q4_K_M.gguf --port 9000
    """
    if ui:
        _check_page(host)
    with progress_on_stderr() as progress:
        environment = adapter_environment(
            model,
            host=host,
            port=port,
            calibration=calibration.resolve() if calibration else None,
            progress=progress,
        )
    url = f"http://{host}:{port}"
    click.echo(
        f"semif: serving {model} at {url} once the model is loaded (/ping says when). Ask it with", err=True
    )
    example = shlex.quote(_example())
    click.echo(f"  semif decide --url {url} {example}", err=True)
    click.echo(f"  curl -s {url}/invocations -H 'content-type: application/json' -d @{example}", err=True)
    if ui:
        click.echo(f"semif: the page to try it: {url}/", err=True)
    # The adapter takes this process's place, so that signals and the exit status are its own.
    program = "semif.serve.ui" if ui else "semif.serve"
    os.execve(sys.executable, [sys.executable, "-m", program, "serve"], environment)  # noqa: S606 - no shell is wanted


def _example() -> str:
    """A request to try: of the project, or where there is none of the toolkit."""
    path = presets_root() / "examples" / "routing.json"
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _check_page(host: str) -> None:
    """Raise SemifError where the page could be reached from elsewhere, or not asked from."""
    if not is_own_name(host):
        raise SemifError(
            f"--ui shows its page on this machine alone, --host is {shown(host)}; use 127.0.0.1 or localhost"
        )
    for name in ("SEMIF_API_KEY", "SEMIF_API_KEY_NEXT"):
        if os.environ.get(name):
            raise SemifError(f"{name} is set, and the page of --ui sends no key; unset it, or leave --ui out")
