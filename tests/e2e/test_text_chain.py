"""A text environment through the real command line: built, hosted by llama-server, asked, and gone.

Its model has two of the preset's layers, and one thread: what is said is nonsense, who says it is looked at.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from semif.evaluation.runs.run_file import read_run
from semif.lock.lock_file import PublishedImage, read_lock
from semif.lock.locked_model import UnpackedModel
from semif.target import local_server
from tests.support.checkout import build_with_installed_packages, copy_project, pin_model, semif

ASK = ("ask", "demo-text", "--local", "--max-tokens", "8", "--temperature", "0")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, short_gguf: Path) -> Iterator[Path]:
    """A copy of the project in which `semif deploy demo-text --local` has passed."""
    project = copy_project(tmp_path_factory.mktemp("text-chain"))
    pin_model(project, "embedded", short_gguf)
    with (project / "environments" / "demo-text.toml").open("a") as environment:
        environment.write("SM_LLAMA_CPP_THREADS = 1\n")
    build_with_installed_packages(project)
    try:
        deployed = semif(project, "deploy", "demo-text", "--local")
        assert deployed.returncode == 0, deployed.stderr
        assert deployed.stdout.endswith('  semif ask demo-text --local "Which colour is the sky?"\n')
        yield project
    finally:
        local_server.stop_server(project)


def test_the_lock_pins_files_and_the_endpoint_runs_them(project: Path) -> None:
    lock = read_lock(local_server.lock_path(project, "demo-text"))
    assert isinstance(lock.model, UnpackedModel)
    status = semif(project, "status", "demo-text", "--local", "--json")
    told = json.loads(status.stdout)
    assert (status.returncode, told["problems"]) == (0, [])
    assert told["endpoint"]["model_data"] == lock.model.address


def test_it_is_asked_in_every_way(project: Path) -> None:
    question = "Which colour is the sky?"
    plain = semif(project, *ASK, question)
    assert plain.returncode == 0, plain.stderr
    streamed = semif(project, *ASK, "--stream", question)
    from_input = semif(project, *ASK, text=question)
    assert plain.stdout == streamed.stdout == from_input.stdout
    assert plain.stdout.strip()
    reply = json.loads(semif(project, *ASK, "--json", question).stdout)
    assert reply["choices"][0]["message"]["content"] == plain.stdout.removesuffix("\n")


def test_labelled_tasks_are_answered_in_words(project: Path) -> None:
    asked = semif(
        project, "evaluate", "run", "demo-text", "examples/labelled.jsonl", "--local", "--limit", "3",
        "--max-tokens", "8", "-o", "run.jsonl",
    )  # fmt: skip
    run = read_run(project / "run.jsonl")
    answered = any(record.status == "answered" for record in run.records)
    assert asked.returncode == (0 if answered else 1), asked.stderr
    assert len(run.records) == 3
    lock = read_lock(local_server.lock_path(project, "demo-text"))
    assert (run.header.target.kind, run.header.pins.model_data) == ("chat", lock.model.address)
    assert isinstance(lock.image, PublishedImage)
    assert run.header.pins.image == str(lock.image.uri)
    for record in run.records:
        assert record.status in ("answered", "unparsable")
        assert (record.output_tokens or 0) > 0
        assert record.server_seconds is not None
        assert 0 < record.server_seconds < record.client_seconds


def test_what_is_no_question_is_refused_in_a_line(project: Path) -> None:
    for arguments, said in (
        ((*ASK, " "), "the message is empty"),
        ((*ASK[:-4], "word " * 4000), "the container answered 400: "),
    ):
        refused = semif(project, *arguments)
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"semif: {said}")
        assert refused.stderr.count("\n") == 1


def test_destroy_leaves_nothing(project: Path) -> None:
    destroyed = semif(project, "destroy", "demo-text", "--local", "--yes", "--json")
    assert json.loads(destroyed.stdout)["deleted"] == [
        "Semif-demo-text-Endpoint",
        "Semif-demo-text-Artifacts",
    ]
    assert local_server.find_server(project) is None
