"""System One's own clients against `semif serve`: the conformance suite and the official SDK.

On a tiny model: what they look at does not depend on the weights.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jevcompat.checks import CASES
from jevcompat.runner import Report, run
from typesafe_sdk import Choice, Noul, RetryPolicy, Score, TypeSafeAuthenticationError, TypeSafeClient

from tests.support.servers.serving import serving

KEY = "a-key-for-tests"
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
    with serving(log, model=str(tiny_gguf()), SEMIF_API_KEY=KEY, **PATIENT) as url:
        yield url
    assert KEY not in log.read_text()


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


def test_the_official_sdk_tells_a_wrong_key(locked: str) -> None:
    once = RetryPolicy(max_retries=0)
    with (
        TypeSafeClient(api_key="another", base_url=locked, retry=once) as client,
        pytest.raises(TypeSafeAuthenticationError, match="not the right one"),
    ):
        client.system_one(state=STATE, questions=QUESTIONS)
