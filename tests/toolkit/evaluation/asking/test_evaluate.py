"""`semif evaluate run`: the real command line, HTTP and weights; stand-ins where a server must fail."""

import json
import random
import signal
import subprocess
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

from semif.cli import main
from semif.client.errors import UnreachableError
from semif.client.retry import Retry
from semif.client.transports.url_transport import UrlTransport
from semif.evaluation.asking.asked_server import AskedTarget
from semif.evaluation.asking.evaluation import evaluate as run
from semif.evaluation.asking.forms import RequestForm
from semif.evaluation.asking.forms.chat import ChatForm
from semif.evaluation.asking.forms.chat_request import chat_request
from semif.evaluation.asking.forms.system_one import SystemOneForm
from semif.evaluation.runs.run_file import Asking, Record, TargetName, read_run
from semif.evaluation.tasks.task_lines import read_tasks
from semif.evaluation.tasks.task_sets import read_task_sets
from semif.project.root import project_root
from tests.support.machine.small_disk import small_disk
from tests.support.machine.waiting import eventually
from tests.support.servers.running import running
from tests.support.servers.serving import SEMIF
from tests.support.servers.stand_in import Script, StandIn

LABELLED = project_root() / "examples" / "labelled.jsonl"


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One task of each kind, and a choice more; short ones."""
    wanted = ["choice", "choice", "noul", "score"]
    chosen = []
    for line in sorted(LABELLED.read_text().splitlines(), key=len):
        if json.loads(line)["kind"] in wanted:
            wanted.remove(json.loads(line)["kind"])
            chosen.append(line)
    path = tmp_path_factory.mktemp("tasks") / "few.jsonl"
    path.write_text("\n".join(chosen) + "\n")
    return path


def evaluate(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["evaluate", "run", *map(str, arguments)])
    return result.exit_code, result.stderr


def test_every_answer_is_kept_whole_with_who_gave_it(short_url: str, few: Path, tmp_path: Path) -> None:
    output = tmp_path / "run.jsonl"
    status, said = evaluate("--url", short_url, few, "-o", output, "--orders", "1")
    assert status == 0, said
    assert "run.jsonl: 8 of 8" in said
    kept = read_run(output)
    assert (kept.header.target.kind, kept.header.target.name) == ("adapter", short_url)
    assert kept.header.tasks[0].count == 4
    assert kept.header.pins.model is not None
    assert kept.header.pins.model.file.startswith("SmolLM2")
    assert [record.order for record in kept.records] == [0] * 4 + [1] * 4
    asked = {task.id: task for task in read_tasks(few)}
    for record in kept.records:
        assert record.status == "answered"
        assert record.probabilities is not None
        assert record.option_logits is not None
        assert sum(record.probabilities) == pytest.approx(1)
        assert record.choice == record.option_ids[record.probabilities.index(max(record.probabilities))]
        assert record.server_seconds is not None
        assert 0 < record.server_seconds < record.client_seconds
        assert isinstance(record.raw, dict)
        assert record.raw["result"]["id"] == record.task  # type: ignore[index, call-overload]
        assert record.question_sha256 == asked[record.task].wording.question_sha256
        assert record.options_sha256 == asked[record.task].wording.options_sha256
    assert {record.option_ids for record in kept.records if record.order} != {
        record.option_ids for record in kept.records if not record.order
    }


def test_callers_at_once_and_arrivals_at_a_rate_get_the_same_answers(
    adapter_url: str, few: Path, tmp_path: Path
) -> None:
    answers = []
    for name, how in {"one": (), "three": ("--concurrency", "3"), "rate": ("--rate", "200")}.items():
        output = tmp_path / f"{name}.jsonl"
        status, said = evaluate("--url", adapter_url, few, "-o", output, *how)
        assert status == 0, said
        kept = read_run(output)
        answers.append({record.task: record.option_logits for record in kept.records})
        waited = [record.queue_seconds for record in kept.records]
        assert all(seconds is not None and seconds >= 0 for seconds in waited) == (name == "rate")
    assert answers[0] == answers[1] == answers[2]


def test_system_one_asks_the_same_and_cannot_turn_scales(adapter_url: str, few: Path, tmp_path: Path) -> None:
    output = tmp_path / "run.jsonl"
    status, said = evaluate("--url", adapter_url, "--as", "system-one", few, "-o", output, "--orders", "1")
    assert status == 0, said
    kept = read_run(output)
    assert [record.status for record in kept.records] == ["answered"] * 6
    assert {record.kind for record in kept.records if record.order} == {"choice"}
    assert kept.header.pins.model_name is not None
    assert all(record.option_logits is None and record.input_tokens for record in kept.records)


def says_yes(number: int, path: str, document: Any) -> tuple[int, bytes]:
    """System One's answer to a noul, and to the probe, which is a choice."""
    assert path == "/v1/systemone"
    probe = document["questions"]["task"]["type"] == "choice"
    answer: dict[str, Any] = {"type": "noul", "noul": 0.75}
    if probe:
        answer = {"type": "choice", "choice": "on", "probabilities": {"on": 1.0, "off": 0.0}}
    return 200, json.dumps({"model": "stand-in", "answers": {"task": answer}}).encode()


def nouls(path: Path, count: int) -> Path:
    options = [{"id": "true"}, {"id": "false"}]
    rows = [
        {"id": f"t{number}", "state": "s", "question": "Is it so?", "options": options, "expected": "true"}
        | {"kind": "noul"}
        for number in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_run_that_is_stopped_goes_on_and_asks_each_task_once(
    tmp_path: Path, how: signal.Signals, status: int
) -> None:
    """Stopped while the third task is on its way, which a server need not finish first."""
    third_is_here, never = Event(), Event()
    stuck = True

    def script(number: int, path: str, document: Any) -> tuple[int, bytes]:
        if stuck and number == 3:  # the probe was 0
            third_is_here.set()
            never.wait(60)
        return says_yes(number, path, document)

    output = tmp_path / "run.jsonl"
    tasks = nouls(tmp_path / "tasks.jsonl", 5)
    with running(StandIn(script)) as server:
        arguments = ["--url", server.url, "--as", "system-one", str(tasks), "-o", str(output)]
        process = subprocess.Popen([*SEMIF, "evaluate", "run", *arguments], stderr=subprocess.PIPE, text=True)
        assert third_is_here.wait(60)
        # The second is written while the third is sent.
        eventually(lambda: read_run(output).records, lambda records: len(records) >= 2)
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
        never.set()
        assert process.returncode == status, said
        assert [record.task for record in read_run(output).records] == ["t0", "t1"]
        if how is signal.SIGINT:
            assert "keeps the answers; the same command goes on there" in said
            assert said.endswith("semif: interrupted\n")
        stuck = False
        with output.open("a") as file:
            file.write('{"task": "t2", "fam')
        went_on, said = evaluate(*arguments)
        assert went_on == 0, said
    kept = read_run(output)
    assert [record.task for record in kept.records] == ["t0", "t1", "t2", "t3", "t4"]


NEVER_WAIT = Retry(max_attempts=3, base_seconds=0)


def asked(
    script: Script, tasks: Path, output: Path, how: Asking | None = None, form: RequestForm | None = None
) -> tuple[Record, ...]:
    """The records of a run against a stand-in that answers at once, or is asked again at once."""
    (read,) = read_task_sets([tasks])
    with running(StandIn(script)) as server:
        form = form or SystemOneForm()
        path = "/v1/systemone" if isinstance(form, SystemOneForm) else "/v1/chat/completions"
        transport = UrlTransport(server.url, path=path)
        target = AskedTarget(
            TargetName(kind="system-one", name="a stand-in"), form, transport, retry=NEVER_WAIT
        )
        with closing(target):
            run(target, [read], how or Asking(), output, lambda _, __: None)
    return read_run(output).records


FULL = (429, b'{"detail": {"error_type": "overloaded", "message": "no room"}}')


def test_refusals_and_retries_are_counted(tmp_path: Path) -> None:
    """The first task is refused twice and then answered, the second is refused as often as it is asked."""
    replies = {1: FULL, 2: FULL, 4: FULL, 5: FULL, 6: FULL}

    def script(number: int, path: str, document: Any) -> tuple[int, bytes]:
        return replies.get(number) or says_yes(number, path, document)

    once, never, well = asked(script, nouls(tmp_path / "tasks.jsonl", 3), tmp_path / "run.jsonl")
    assert (once.status, once.attempts, once.refusals, once.error) == ("answered", 3, 2, None)
    assert (never.status, never.attempts, never.refusals, never.choice) == ("refused", 3, 3, None)
    assert never.error is not None
    assert (never.error.code, never.error.status) == ("overloaded", 429)
    assert (well.status, well.attempts, well.refusals) == ("answered", 1, 0)


@pytest.mark.parametrize(
    ("reply", "error", "raw"),
    [
        ((422, b'{"detail": [{"loc": ["body"], "msg": "no", "type": "wrong"}]}'), ("wrong", 422), None),
        ((500, b"broken"), ("ContainerFaultError", 500), None),
        ((200, b"<html>hello</html>"), ("invalid_answer", None), "<html>hello</html>"),
        ((200, b'{"answers": {}}'), ("invalid_answer", None), {"answers": {}}),
        ((200, b'{"answers": NaN}'), ("invalid_answer", None), '{"answers": NaN}'),
        ((200, b'{"model": "\\ud800"}'), ("invalid_answer", None), '{"model": "\\ud800"}'),
        (
            (200, b'{"a": ' * 300 + b"1" + b"}" * 300),
            ("invalid_answer", None),
            '{"a": ' * 300 + "1" + "}" * 300,
        ),
        ((200, b"\xff"), ("invalid_answer", None), "\ufffd"),
        ((400, b'{"error": {"code": "no", "message": "\\ud800"}}'), ("RequestRefusedError", 400), None),
    ],
)
def test_an_error_is_an_outcome_and_not_asked_again(
    tmp_path: Path, reply: tuple[int, bytes], error: tuple[str, int | None], raw: object
) -> None:
    def script(number: int, path: str, document: Any) -> tuple[int, bytes]:
        return reply if number == 1 else says_yes(number, path, document)

    failed, after = asked(script, nouls(tmp_path / "tasks.jsonl", 2), tmp_path / "run.jsonl")
    assert failed.error is not None
    assert (failed.status, failed.attempts, failed.refusals, failed.raw) == ("failed", 1, 0, raw)
    assert (failed.error.code, failed.error.status) == error
    assert after.status == "answered"


def test_a_server_that_goes_away_stops_the_run_and_keeps_it(tmp_path: Path) -> None:
    tasks, output = nouls(tmp_path / "tasks.jsonl", 3), tmp_path / "run.jsonl"

    def hangs_up(number: int, path: str, document: Any) -> tuple[int, bytes]:
        if number >= 2:
            raise ConnectionAbortedError
        return says_yes(number, path, document)

    with pytest.raises(UnreachableError):
        asked(hangs_up, tasks, output)
    assert len(read_run(output).records) == 1
    assert len(asked(says_yes, tasks, output)) == 3


def test_a_full_disk_stops_the_run_and_keeps_it(tmp_path: Path) -> None:
    tasks, output = nouls(tmp_path / "tasks.jsonl", 8), tmp_path / "run.jsonl"
    with running(StandIn(says_yes)) as server:
        arguments = ("--url", server.url, "--as", "system-one", tasks, "-o", output)
        with small_disk(2000):
            status, said = evaluate(*arguments)
        assert (status, said.splitlines()[-1]) == (1, f"semif: cannot write {output}: file too large")
        assert output.stat().st_size == 2000
        assert 0 < len(read_run(output).records) < 8
        assert evaluate(*arguments)[0] == 0
    assert [record.task for record in read_run(output).records] == [f"t{number}" for number in range(8)]


def test_a_run_without_a_valid_answer_fails(tmp_path: Path) -> None:
    def script(number: int, path: str, document: Any) -> tuple[int, bytes]:
        return (500, b"broken") if number else says_yes(number, path, document)

    output = tmp_path / "run.jsonl"
    with running(StandIn(script)) as server:
        status, said = evaluate(
            "--url", server.url, "--as", "system-one", nouls(tmp_path / "tasks.jsonl", 2), "-o", output
        )
    assert (status, len(read_run(output).records)) == (1, 2)
    assert said.splitlines()[-1].startswith(
        f"semif: no task got a valid answer; {output} has what came instead, 2 of 2 times: "
    )


def test_an_arrival_is_counted_from_when_it_was_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One connection and a server slower than the arrivals: each waits longer, and its latency says so."""
    monkeypatch.setattr("semif.evaluation.asking.concurrency.MAX_IN_FLIGHT", 1)
    slow = Event()

    def script(number: int, path: str, document: Any) -> tuple[int, bytes]:
        slow.wait(0.02)
        return says_yes(number, path, document)

    records = asked(
        script, nouls(tmp_path / "tasks.jsonl", 6), tmp_path / "run.jsonl", Asking(rate=1000.0, seed=7)
    )
    due = [record.asked for record in records]
    chance = random.Random(7)
    gaps = [chance.expovariate(1000.0) for _ in records][1:]
    found = [(later - earlier).total_seconds() for earlier, later in pairwise(due)]
    assert found == pytest.approx(gaps, abs=1e-5)
    waited = [record.queue_seconds or 0.0 for record in records]
    assert waited == sorted(waited)
    assert all(record.client_seconds > (record.queue_seconds or 0.0) for record in records)


def test_an_endpoint_that_writes_is_asked_in_words(tmp_path: Path) -> None:
    words = iter(["A", "on", "true", "I think that it is so, because the state says so"])

    def script(number: int, path: str, document: Any) -> tuple[int, bytes]:
        assert path == "/v1/chat/completions"
        assert document["temperature"] == 0
        assert document["max_tokens"] == 16
        (message,) = document["messages"]
        assert number == 0 or message["content"] == (
            "s\n\nIs it so?\n\nA. true: Yes\nB. false: No\n\nAnswer with one letter only."
        )
        return 200, json.dumps({"model": "m", "choices": [{"message": {"content": next(words)}}]}).encode()

    form = ChatForm(chat_request(max_tokens=16))
    records = asked(script, nouls(tmp_path / "tasks.jsonl", 3), tmp_path / "run.jsonl", form=form)
    assert [(record.status, record.choice) for record in records] == [
        ("unparsable", None),
        ("answered", "true"),
        ("unparsable", None),
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("tasks.jsonl",), 2, "give ENV and files of tasks, or --url URL and files of tasks"),
        (("--url", "http://127.0.0.1:1"), 2, "give ENV and files of tasks"),
        (("--url", "http://127.0.0.1:1", "--local", "tasks.jsonl"), 2, "give one"),
        (("--url", "http://127.0.0.1:1", "--rate", "1", "--concurrency", "2", "tasks.jsonl"), 2, "give one"),
        (("--url", "http://127.0.0.1:1", "dev", "a.jsonl"), 2, "dev is an environment; give ENV or --url"),
        (("--url", "127.0.0.1", "absent.jsonl"), 1, "semif: cannot read absent.jsonl"),
        (("--url", "127.0.0.1", str(LABELLED)), 1, "'127.0.0.1' cannot be asked: an address is http://"),
        (("nothing", str(LABELLED)), 1, "semif: there is no environment"),
    ],
)
def test_wrong_usage_writes_nothing(
    tmp_path: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    found, error = evaluate(*arguments, "-o", tmp_path / "run.jsonl")
    assert found == status
    assert said in error
    assert not list(tmp_path.iterdir())
