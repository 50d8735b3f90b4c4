"""`GET /openapi.json` is true: schemathesis asks every route of a real server what it allows and what not."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semif_adapter.contract.settings import Settings
from semif_adapter.engine.engine import Engine
from semif_adapter.http.app import create_app

KEY = "the-key"


@pytest.fixture(scope="module")
def server(start_module_server: Any, tiny_gguf: Callable[..., Path], library_dir: Path) -> Any:
    settings = {"gguf": tiny_gguf(), "library_dir": library_dir, "readout": "letters", "threads": 1}
    settings |= {"context_tokens": 512, "streams": 2, "api_key": KEY}
    return start_module_server(load=lambda: Engine.load(Settings(**settings)), **settings)


def test_every_route_keeps_to_the_document(server: Any, tmp_path: Path) -> None:
    run = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"),
            "run",
            f"http://127.0.0.1:{server.port}/openapi.json",
            # JSON Schema cannot say that ids are unique, or states equal: what it allows may be refused.
            "--exclude-checks=positive_data_acceptance",
            f"--header=Authorization: Bearer {KEY}",
            "--phases=examples,coverage,fuzzing",
            "--max-examples=60",
            "--seed=1",
            "--generation-database=none",
            "--suppress-health-check=all",
            "--warnings=off",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert server.request("GET", "/ping").status == 200


def test_the_document_names_every_route(server: Any) -> None:
    document = server.request("GET", "/openapi.json").json
    asked = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    served = {
        (route.path, method)
        for route in create_app(Settings(), lambda: server.engine).routes
        for method in route.methods - {"HEAD"}
    }
    assert asked == served
