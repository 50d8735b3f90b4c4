"""`semif serve`: the adapter on this machine."""

import os
import sys

import click

from semif.cli.common import progress_on_stderr
from semif.project import project_root
from semif.serve import adapter_environment


@click.command()
@click.argument("model", metavar="PRESET|GGUF")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8080, show_default=True, help="Port to listen on."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
def command(model: str, port: int, host: str) -> None:
    """Serve a model on this machine.

    Serves a preset's model, or a GGUF file, until Ctrl-C. The program is the one that runs in the
    container. A preset's file is fetched and its SHA-256 verified first. SEMIF_* variables
    (SEMIF_THREADS=4) set what the container can be set to.

    \b
    Examples:
      semif serve embedded
      semif serve ~/models/Qwen3.5-0.8B-Q4_K_M.gguf --port 9000
    """
    with progress_on_stderr() as progress:
        environment = adapter_environment(model, root=project_root(), host=host, port=port, progress=progress)
    url = f"http://{host}:{port}"
    click.echo(
        f"semif: serving {model} at {url} once the model is loaded (/ping says when). Ask it with", err=True
    )
    click.echo(f"  semif decide --url {url} examples/routing.json", err=True)
    click.echo(
        f"  curl -s {url}/invocations -H 'content-type: application/json' -d @examples/routing.json", err=True
    )
    # The adapter takes this process's place, so that signals and the exit status are its own.
    os.execve(sys.executable, [sys.executable, "-m", "semif_adapter", "serve"], environment)  # noqa: S606 - no shell is wanted
