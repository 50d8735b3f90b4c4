"""System One's clients against `semif serve`: the suite, JevBench, its SDK, the Strands SDK's body.

On a tiny model: what they look at does not depend on the weights.
"""

import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jevbench
import pytest
import typesafe_sdk
from botocore.exceptions import ClientError
from jevcompat.checks import CASES
from jevcompat.runner import Report, run
from pydantic import TypeAdapter
from typesafe_sdk import Choice, Noul, RetryPolicy, Score, TypeSafeAuthenticationError, TypeSafeClient

from semif.aws.clients import Aws
from semif.project.root import project_root
from tests.support.servers.sagemaker_stand_in import StandIn, model_error
from tests.support.servers.serving import serving

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

KEY = "a-key-for-tests"
NEXT_KEY = "another-key-for-tests"
# Long enough for the SDK to compress it.
STATE = "I was charged twice for my March invoice and want one payment back, or I call my bank. " * 13
QUESTIONS = {
    "refund": Noul(instructions="Is the customer asking for money back?"),
    "team": Choice(criteria={"Billing": "Payments, invoices, refunds", "Technical": "Bugs, outages"}),
    "anger": Score(
        instructions="How frustrated is the customer?", criteria=["Calm", "Frustrated", "Very angry"]
    ),
}
ONE_OF_TWO = {"auth.bearer", "auth.ignored-when-off"}
"""Each applies where the other does not."""


PATIENT = {"SEMIF_DEADLINE_SECONDS": "600"}
"""A long deadline: a busy machine is no finding about conformance."""


@pytest.fixture(scope="module")
def locked(tiny_gguf: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("serve") / "log"
    with serving(
        log, model=str(tiny_gguf()), SEMIF_API_KEY=KEY, SEMIF_API_KEY_NEXT=NEXT_KEY, **PATIENT
    ) as url:
        yield url
    assert KEY not in log.read_text()
    assert NEXT_KEY not in log.read_text()


@pytest.fixture(scope="module")
def open_to_all(tiny_gguf: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("serve") / "log", model=str(tiny_gguf()), **PATIENT) as url:
        yield url


def outcomes(report: Report) -> dict[str, str]:
    assert report.aborted is None
    assert report.case_errors == report.inconclusive == []
    return {result.id: result.status for result in report.results}


def test_the_conformance_suite_passes_with_a_key(locked: str) -> None:
    report = run(locked, key=KEY)

    statuses = outcomes(report)
    assert [name for name, status in statuses.items() if status != "pass"] == ["auth.ignored-when-off"]
    assert report.verdict == "conformant"
    assert (report.count("MUST", "pass"), report.count("SHOULD", "pass")) == (32, 15)


def test_the_conformance_suite_passes_without_a_key(open_to_all: str) -> None:
    """All but the questions with up to 255 options, which the other run asked."""
    report = run(open_to_all, only={case.name for case in CASES} - {"choice-options"})

    statuses = outcomes(report)
    assert [name for name, status in statuses.items() if status != "pass"] == [
        "auth.bearer",
        "auth.missing",
        "auth.invalid",
    ]
    assert (report.count("MUST", "pass"), report.count("SHOULD", "pass")) == (32, 13)


@pytest.mark.parametrize("compression", ["zstd", False])
def test_the_official_sdk_gets_typed_answers(locked: str, compression: str | bool) -> None:
    with TypeSafeClient(api_key=KEY, base_url=locked, compression=compression, timeout=120) as client:
        reply = client.system_one(state=STATE, questions=QUESTIONS)
        models = client.models.list()

    assert reply.model == models.models[0].name == "tiny-qwen3"  # as the GGUF names itself
    assert 0 <= reply.nouls["refund"].noul <= 1
    assert reply.choices["team"].choice in ("Billing", "Technical")
    assert sum(reply.choices["team"].probabilities.values()) == pytest.approx(1)
    assert reply.scores["anger"].legend == {0: "Calm", 1: "Frustrated", 2: "Very angry"}
    assert 0 <= reply.scores["anger"].score <= 2
    assert reply.usage.input_tokens
    assert reply.usage.output_tokens == 0
    assert reply.request_id == reply.raw_http_response.headers["x-request-id"]


def test_the_key_that_comes_next_is_taken_as_well(locked: str) -> None:
    with TypeSafeClient(api_key=NEXT_KEY, base_url=locked, timeout=120) as client:
        assert client.models.list().models[0].name == "tiny-qwen3"


def test_the_official_sdk_tells_a_wrong_key(locked: str) -> None:
    once = RetryPolicy(max_retries=0)
    with (
        TypeSafeClient(api_key="another", base_url=locked, retry=once) as client,
        pytest.raises(TypeSafeAuthenticationError, match="not the right one"),
    ):
        client.system_one(state=STATE, questions=QUESTIONS)


def test_jevbench_finds_each_question_independent_of_the_others(open_to_all: str) -> None:
    """What JevBench calls coherent depends on the weights; that a batch changes no answer does not."""
    model = jevbench.systemone(f"{open_to_all}/v1/systemone", model="kev-4b")
    with model.client:
        assert set(jevbench.check(model)["questions"]) == {"noul", "choice", "score"}
        report = jevbench.evaluate(model, suite="examples", dimensions=["BAT"], cache=None, bootstrap=0)

    assert report.errors == []
    assert report.dimensions["BAT"] == 1.0


STRANDS = {
    "EndpointName": "semif-demo",
    "ContentType": "application/json",
    "Accept": "application/json",
    "Body": json.dumps(
        {
            "state": {"messages": [{"role": "user", "content": [{"text": STATE}]}]},
            "model": "strands-decider-latest",
            "questions": {
                "refund": {"type": "noul", "instructions": "Is the customer asking for money back?"},
                "team": {"type": "choice", "criteria": {"Billing": "Payments", "Technical": None}},
                "anger": {"type": "score", "instructions": "How angry?", "criteria": ["Calm", "Angry"]},
            },
        },
        ensure_ascii=False,
    ),
}
"""What the Strands Agents SDK's SageMakerDecisionModel sends, as its repository has it: no release has it yet
(PyPI's newest, 1.62.0)."""
FULL = json.dumps({"detail": {"error_type": "overloaded", "message": "16 are in flight; try again in 1 s"}})


def test_the_strands_sdks_body_gets_answers_that_its_decoder_reads(
    open_to_all: str, stand_in: StandIn, runtime: "SageMakerRuntimeClient"
) -> None:
    stand_in.behind = open_to_all
    reply = json.loads(runtime.invoke_endpoint(**STRANDS)["Body"].read())

    decoder: TypeAdapter[Any] = TypeAdapter(typesafe_sdk.Answer)
    answers = {name: decoder.validate_json(json.dumps(answer)) for name, answer in reply["answers"].items()}
    assert [answer.type for answer in answers.values()] == ["noul", "choice", "score"]
    assert reply["usage"]["input_tokens"] > 0


def test_overload_reaches_the_strands_sdk_as_a_model_error_and_can_be_waited_out(
    open_to_all: str, stand_in: StandIn, runtime: "SageMakerRuntimeClient"
) -> None:
    stand_in.behind = open_to_all
    stand_in.script = [model_error(503, FULL)]
    with pytest.raises(ClientError) as told:
        runtime.invoke_endpoint(**STRANDS)
    assert told.value.response["Error"]["Code"] == "ModelError"

    example = runpy.run_path(str(project_root() / "examples" / "retry_overload.py"))
    own = Aws(region="us-east-1", endpoint_url=stand_in.url).sagemaker_runtime
    client = example["retry_overload"](own, attempts=3, longest_seconds=0)
    stand_in.script = [model_error(503, FULL)] * 2
    assert client.invoke_endpoint(**STRANDS)["ResponseMetadata"]["HTTPStatusCode"] == 200
    stand_in.script = [model_error(503, FULL)] * 3
    with pytest.raises(ClientError, match="in flight"):
        client.invoke_endpoint(**STRANDS)
    assert stand_in.script == []
    stand_in.script = [model_error(422, "wrong")] * 2
    with pytest.raises(ClientError, match="wrong"):
        client.invoke_endpoint(**STRANDS)
    assert len(stand_in.script) == 1
