"""How many instances: the arithmetic against a simulated queue, and the command's sources of the rate."""

import gzip
import json
import random
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import moto
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from semif.cli import main
from semif.deployment.endpoint.capacity import MAX_BUSY, RequestLoad, size
from semif.deployment.endpoint.estimated_rate import estimate_rate
from semif.errors import SemifError
from semif.models.presets import load_preset
from semif.sagemaker.instances import instance_type, instance_types
from tests.support.servers.running import running

EC2_TYPES = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"


def test_the_wait_is_that_of_a_queue_with_random_arrivals_and_equal_requests() -> None:
    found = size(RequestLoad(20, 100), tokens_per_second=3000, deadline_seconds=55)
    assert (found.instances, round(found.busy, 3)) == (1, 0.667)
    dice, clock, free, waits = random.Random(4711), 0.0, 0.0, 0.0
    requests = 200_000
    for _ in range(requests):
        clock += dice.expovariate(20)
        waits += max(0.0, free - clock)
        free = max(free, clock) + found.service_seconds
    assert waits / requests == pytest.approx(found.queue_seconds, rel=0.05)
    assert found.in_flight == pytest.approx(20 * found.seconds)  # Little


def test_questions_share_what_is_cached() -> None:
    load = RequestLoad(1, 500, questions=8, cached_share=0.75)
    assert load.computed_tokens == 1000
    assert size(load, tokens_per_second=1000, deadline_seconds=55).service_seconds == 1


@given(
    st.floats(0.01, 1e4),
    st.integers(1, 100_000),
    st.floats(10, 1e5),
    st.floats(1, 3600),
)
def test_the_fewest_instances_that_are_not_too_busy_and_answer_in_time(
    rps: float, tokens: int, rate: float, deadline: float
) -> None:
    service = tokens / rate
    if service >= deadline:
        with pytest.raises(SemifError, match="no number of instances helps"):
            size(RequestLoad(rps, tokens), tokens_per_second=rate, deadline_seconds=deadline)
        return
    found = size(RequestLoad(rps, tokens), tokens_per_second=rate, deadline_seconds=deadline)
    assert found.busy <= MAX_BUSY + 1e-6
    assert found.seconds <= deadline * (1 + 1e-6)
    if found.instances > 1:
        busy = rps * service / (found.instances - 1)
        wait = service * busy / (2 * (1 - busy)) if busy < 1 else float("inf")
        assert busy > MAX_BUSY - 1e-6 or wait + service > deadline * (1 - 1e-6)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["size", *arguments])
    return result.exit_code, result.stdout or result.stderr


def test_the_command_tells_what_it_assumes() -> None:
    status, told = run("dev", "--rps", "5", "--tokens", "400", "--tokens-per-second", "1200")
    assert status == 0
    assert told.startswith("3 x ml.c6i.8xlarge\n")
    assert "assumed:\n" in told
    assert "wait = work x busy / (2 x (1 - busy))" in told
    _, told = run("prod", "--rps", "5", "--tokens", "400", "--tokens-per-second", "1200", "--json")
    document = json.loads(told)
    assert document["size"]["instances"] == 3
    assert any("instance type of the pool" in line for line in document["assumptions"])


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("text --rps 1 --tokens 9 --tokens-per-second 9", 1, "text is of kind 'text'"),
        ("demo --rps 1 --tokens 2049 --tokens-per-second 9", 1, "adapter.context_tokens of demo, 2048"),
        ("demo --rps 1 --tokens 2000 --tokens-per-second 9", 1, "no number of instances helps"),
        ("demo --rps 1 --tokens 9 --tokens-per-second 9 --url http://127.0.0.1:1", 2, "give one"),
        ("demo --rps 1 --tokens 9 --estimate --url http://127.0.0.1:1", 2, "give one"),
        ("demo --rps 1 --tokens 9 --estimate --profile p", 2, "leave them out with a rate"),
        ("demo --rps 1 --tokens 9 --estimate", 1, "no rate of Q4_1, the type of embedded, was measured"),
        ("prod --rps 1 --tokens 9 --estimate", 1, "no rate of ml.g6.xlarge, or of anything like it"),
        ("demo --rps 1 --tokens 9 --tokens-per-second 9 --local", 2, "leave them out with a rate"),
        ("demo --rps 0 --tokens 9", 2, "--rps"),
        ("demo --rps 1 --tokens 9 --cached 1", 2, "--cached"),
        ("demo --rps 1 --tokens 9 --url ftp://127.0.0.1", 1, "cannot be asked"),
        (
            "demo --rps 1 --tokens 9 --url http://127.0.0.1:9",
            1,
            "http://127.0.0.1:9/metrics cannot be reached",
        ),
    ],
)
def test_what_cannot_be_sized(arguments: str, status: int, message: str) -> None:
    found, told = run(*arguments.split())
    assert (found, message in told) == (status, True), told


@pytest.mark.parametrize(
    ("options", "variables", "problem"),
    [
        ("dev", {}, "no AWS region is set"),
        ("dev", {"AWS_REGION": "eu-west-1"}, "no AWS credentials were found"),
        ("dev --profile none", {"AWS_REGION": "eu-west-1"}, "there is no AWS profile none"),
        ("demo --local", {}, "nothing of demo is deployed on this machine"),
    ],
)
def test_without_an_endpoint_to_ask_other_ways_to_a_rate_are_named(
    no_access: None,
    monkeypatch: pytest.MonkeyPatch,
    options: str,
    variables: dict[str, str],
    problem: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    status, told = run(*options.split(), "--rps", "1", "--tokens", "9")
    assert (status, problem in told) == (1, True), told
    assert told.endswith("; or give --tokens-per-second, --url of an adapter, or --estimate\n")


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (
            "# TYPE semif_tokens_per_second gauge\nsemif_tokens_per_second 812.5\n",
            "812 tokens/s an instance, told",
        ),
        ("semif_tokens_per_second NaN\n", "tells no semif_tokens_per_second"),
        ("semif_tokens_per_second 0\n", "tells no semif_tokens_per_second"),
        ("semif_tokens_per_second +Inf\n", "tells no semif_tokens_per_second"),
        ("<html>", "is it an adapter's address?"),
    ],
)
def test_the_rate_that_an_adapter_tells(page: str, told: str) -> None:
    class Adapter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/metrics"
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            pass

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Adapter)) as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        _, shown = run("demo", "--rps", "1", "--tokens", "9", "--url", url)
    assert told in shown


def test_an_estimate_tells_what_it_was_made_from() -> None:
    status, told = run("dev", "--rps", "0.1", "--tokens", "400", "--estimate", "--json")
    assert status == 0, told
    document = json.loads(told)
    preset, instance = load_preset("qwen3.5-4b"), instance_type("ml.c6i.8xlarge")
    expected = estimate_rate(instance, preset)
    assert document["tokens_per_second"] == expected.tokens_per_second
    assert document["rate_source"] == "an estimate"
    assert document["assumptions"][: len(expected.derivation)] == list(expected.derivation)
    assert any("not measured on ml.c6i.8xlarge" in line for line in expected.derivation)


def test_an_estimate_grows_with_cores_and_shrinks_with_the_model() -> None:
    large, small = (instance_type(f"ml.c6i.{size}") for size in ("8xlarge", "4xlarge"))
    preset = load_preset("qwen3.5-4b")
    whole = estimate_rate(large, preset).tokens_per_second
    assert whole == pytest.approx(2 * estimate_rate(small, preset).tokens_per_second)
    assert whole == pytest.approx(2 * estimate_rate(large, preset, threads=8).tokens_per_second)
    assert whole == estimate_rate(large, preset, threads=32).tokens_per_second
    smaller = load_preset("qwen3.5-0.8b")
    assert estimate_rate(large, smaller).tokens_per_second / whole == pytest.approx(
        preset.bytes / smaller.bytes
    )


def test_kernels_that_were_not_measured_are_named() -> None:
    estimate = estimate_rate(instance_type("ml.c7i.8xlarge"), load_preset("qwen3.5-4b"))
    assert any("its kernels for AMX were not measured" in line for line in estimate.derivation)


def test_estimated_families_have_two_virtual_cpus_a_core() -> None:
    """EC2's own table; of the rest nothing is estimated."""
    ec2 = json.loads(gzip.decompress(EC2_TYPES.read_bytes()))
    estimated = 0
    for name, instance in instance_types().items():
        try:
            estimate_rate(instance, load_preset("qwen3.5-4b"))
        except SemifError:
            continue
        estimated += 1
        assert ec2[name.removeprefix("ml.")]["VCpuInfo"]["DefaultThreadsPerCore"] == 2, name
        assert not instance.gpus
    assert estimated > 50


@pytest.mark.parametrize(
    "arguments",
    [
        ["size", "dev", "--tokens", "8", "--rps", "nan"],
        ["size", "dev", "--tokens", "8", "--rps", "1", "--cached", "nan"],
        ["calibrate", "cascade", "small.jsonl", "large.jsonl", "--prices", "1", "inf"],
        ["calibrate", "thresholds", "run.jsonl", "--precision", "nan"],
        ["evaluate", "run", "dev", "tasks.jsonl", "-o", "run.jsonl", "--rate", "nan"],
    ],
)
def test_what_is_not_a_number_is_refused_wherever_one_is_wanted(arguments: list[str]) -> None:
    refused = CliRunner().invoke(main, arguments)
    assert (refused.exit_code, f"{arguments[-1]} is not a number" in refused.output) == (2, True)
