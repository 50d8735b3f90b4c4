"""`semif evaluate run` where nothing is found in the first replies, and where they take too long."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.evaluation.asking.first_replies import WITHOUT_ANSWER, WITHOUT_OPTION
from semif.evaluation.runs.run_file import read_run
from tests.support.servers.running import running
from tests.support.servers.stand_in import StandIn

COUNT = 60
SECRET = "mauve"


def evaluate(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["evaluate", "run", *map(str, arguments)])
    return result.exit_code, result.stderr


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    asked = {"question": "Which?", "options": [{"id": "billing"}, {"id": "shipping"}], "expected": "billing"}
    path = tmp_path / "tasks.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"t{n}", "state": f"s{n}"} | asked) + "\n" for n in range(COUNT))
    )
    return path


def replies(document: Any) -> StandIn:
    return StandIn(lambda number, path, asked: (200, json.dumps(document).encode()))


def completion(words: str) -> Any:
    return {"choices": [{"message": {"content": words}}]}


OTHER_API = {
    "output": [{"type": "text", "text": "billing"}, {"text": SECRET}],
    "a b": None,
    "n": 1,
    "none": [],
}
OTHER_PLACES = """\
    output[0].type: a string of 4 characters
    output[0].text: a string of 7 characters
    output[1].text: a string of 5 characters
    "a b": null
    n: a number
    none: an empty array
"""


@pytest.mark.parametrize("how", [(), ("--concurrency", "3"), ("--rate", "1000")])
def test_a_wrong_place_costs_a_few_tasks_and_is_told(
    tasks: Path, tmp_path: Path, how: tuple[str, ...]
) -> None:
    output = tmp_path / "run.jsonl"
    with running(replies(OTHER_API)) as server:
        command = ("--url", server.url, "--as", "chat", tasks, "-o", output, *how)
        status, told = evaluate(*command)
        kept = read_run(output).records
        assert (status, len(kept)) == (1, WITHOUT_ANSWER)
        assert all(record.raw == OTHER_API for record in kept)
        assert f"the first {WITHOUT_ANSWER} replies hold no answer: the reply has neither text nor" in told
        assert f"; {COUNT - WITHOUT_ANSWER} more were not asked for." in told
        assert OTHER_PLACES.replace("    ", "  ") in told
        assert "looked for at choices[0].message.[content || ''] | [0]; say with --answer-path" in told
        assert "An option is named at output[0].text; a change needs another --output" in told
        assert f"semif: {output} keeps the answers; the same command goes on there" in told
        assert SECRET not in told
        assert evaluate(*command)[0] == 1  # who says it again gets it all
        assert len(read_run(output).records) == COUNT
        found = ("--answer-path", "output[0].text")
        right = tmp_path / "right.jsonl"
        assert evaluate("--url", server.url, "--as", "chat", *found, tasks, "-o", right)[0] == 0
    assert len(read_run(right).records) == COUNT


def answer_at(place: int) -> Callable[[int, str, Any], tuple[int, bytes]]:
    """Of a server whose reply to this task, the probe being none, is the only one with an answer."""
    return lambda number, path, asked: (
        200,
        json.dumps(completion("billing") if number == place + 1 else OTHER_API).encode(),
    )


def test_one_answer_among_the_first_shows_that_the_place_is_right(tasks: Path, tmp_path: Path) -> None:
    with running(StandIn(answer_at(WITHOUT_ANSWER - 1))) as server:
        status, _ = evaluate("--url", server.url, "--as", "chat", tasks, "-o", tmp_path / "run.jsonl")
    assert status == 0
    assert len(read_run(tmp_path / "run.jsonl").records) == COUNT


def test_words_that_name_no_option_have_longer(tasks: Path, tmp_path: Path) -> None:
    output = tmp_path / "run.jsonl"
    with running(replies(completion(f"I think it is {SECRET}."))) as server:
        status, told = evaluate("--url", server.url, "--as", "chat", tasks, "-o", output)
    assert (status, len(read_run(output).records)) == (1, WITHOUT_OPTION)
    assert f"the first {WITHOUT_OPTION} replies name no option of their tasks" in told
    assert "  choices[0].message.content: a string of 20 characters\n" in told
    assert SECRET not in told


def test_a_second_path_that_leads_nowhere_is_told(tasks: Path, tmp_path: Path) -> None:
    paths = ("--answer-path", "choices[0].message.content", "--answer-path", "team")
    with running(replies(completion(json.dumps({"class": "billing"})))) as server:
        command = ("--url", server.url, "--as", "chat", *paths, tasks, "-o", tmp_path / "run.jsonl")
        status, told = evaluate(*command)
    assert status == 1
    assert "looked for at choices[0].message.content, and in the JSON there at team; say" in told


@pytest.mark.parametrize("form", ["decision", "system-one"])
def test_a_server_of_another_form_costs_a_few_tasks_too(tasks: Path, tmp_path: Path, form: str) -> None:
    output = tmp_path / "run.jsonl"
    with running(replies(completion("billing"))) as server:
        status, told = evaluate("--url", server.url, "--as", form, tasks, "-o", output)
    assert (status, len(read_run(output).records)) == (1, WITHOUT_ANSWER)
    assert f"(--as {form}); say with --as what this server answers" in told


def test_what_fails_is_no_reply_and_stops_nothing(tasks: Path, tmp_path: Path) -> None:
    broken = StandIn(lambda number, path, asked: (500 if number else 200, b'{"error": "broken"}'))
    output = tmp_path / "run.jsonl"
    with running(broken) as server:
        evaluate("--url", server.url, "--as", "chat", tasks, "-o", output)
    assert len(read_run(output).records) == COUNT


def test_an_answer_that_takes_too_long_is_cut_off(tasks: Path, tmp_path: Path) -> None:
    over = Event()

    def script(number: int, path: str, asked: Any) -> tuple[int, bytes]:
        if number == 1:
            over.wait(60)
        return 200, json.dumps(completion("billing")).encode()

    output = tmp_path / "run.jsonl"
    with running(StandIn(script)) as server:
        how = ("--timeout", "3", "--limit", "2")
        status, _ = evaluate("--url", server.url, "--as", "chat", *how, tasks, "-o", output)
        over.set()
    first, second = read_run(output).records
    assert (status, second.choice) == (0, "billing")
    assert first.error is not None
    assert (first.status, first.error.code) == ("failed", "timeout")
