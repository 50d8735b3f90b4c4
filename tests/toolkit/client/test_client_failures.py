"""How asking fails: through real botocore, and over HTTP to an address. Nothing waits: the clock is ours."""

import base64
import gzip
import json
import math
import pickle
import threading
from typing import TYPE_CHECKING

import botocore.config
import pytest

from semif import DecisionClient, Retry
from semif.aws.clients import INVOKE, Aws
from semif.client.errors import (
    AccessError,
    AnswerTimeoutError,
    ContainerFaultError,
    DecisionError,
    NoEndpointError,
    OverloadedError,
    RequestRefusedError,
    ThrottledError,
    UnavailableError,
    UnknownReplyError,
    UnreachableError,
)
from semif.client.retry import Attempt
from semif.errors import SemifError
from semif_adapter.contract.wire import MAX_BODY_BYTES, DecisionResponse
from tests.support.machine.fake_clock import FakeClock
from tests.support.runs.policies import answer
from tests.support.servers.sagemaker_stand_in import (
    CUT_OFF,
    HANG_UP,
    Reply,
    StandIn,
    adapter_error,
    model_error,
    service_error,
)
from tests.support.servers.serving import free_port

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

STATE = "the secret colour is mauve"
OVERLOADED = adapter_error("overloaded", retry_after_seconds=1.5)
RETRIED = {
    "overloaded": (model_error(503, OVERLOADED), OverloadedError, 503, "overloaded"),
    "overloaded, not by the wire": (model_error(503, "busy"), OverloadedError, 503, None),
    "too many": (model_error(429, "busy"), OverloadedError, 429, None),
    "overloaded by another name": (model_error(529, "busy"), OverloadedError, 529, None),
    "bad gateway": (model_error(502, "<html>"), UnavailableError, 502, None),
    "throttled with 400 and null": (
        service_error(400, "ThrottlingException", None),
        ThrottledError,
        400,
        "ThrottlingException",
    ),
    "throttled": (service_error(429, "ThrottlingException"), ThrottledError, 429, "ThrottlingException"),
    "unavailable": (service_error(503, "ServiceUnavailable"), UnavailableError, 503, "ServiceUnavailable"),
    "failure": (service_error(500, "InternalFailure"), UnavailableError, 500, "InternalFailure"),
    "dependency": (
        service_error(530, "InternalDependencyException"),
        UnavailableError,
        530,
        "InternalDependencyException",
    ),
    "not ready": (
        service_error(429, "ModelNotReadyException"),
        UnavailableError,
        429,
        "ModelNotReadyException",
    ),
    "no document": (Reply(503, b"<html>"), UnavailableError, 503, "503"),
    "hung up": (HANG_UP, UnreachableError, None, None),
    "broken off": (CUT_OFF, UnreachableError, None, None),
}
REFUSED = {
    **{
        f"the container's {status}": (model_error(status, adapter_error("wrong")), kind, status)
        for status, kind in {
            400: RequestRefusedError,
            401: AccessError,
            404: RequestRefusedError,
            408: RequestRefusedError,
            413: RequestRefusedError,
            415: RequestRefusedError,
            422: RequestRefusedError,
            500: ContainerFaultError,
            504: AnswerTimeoutError,
        }.items()
    },
    # As SageMaker tells that its minute is over.
    "too slow": (model_error(0, "Your invocation timed out"), AnswerTimeoutError, 0),
    "no endpoint": (
        service_error(400, "ValidationError", "Endpoint demo not found."),
        NoEndpointError,
        400,
    ),
    "refused by SageMaker": (service_error(400, "ValidationError"), RequestRefusedError, 400),
    "refused without a word": (service_error(400, "ValidationError", None), RequestRefusedError, 400),
    "denied": (service_error(403, "AccessDeniedException"), AccessError, 403),
    "expired": (service_error(400, "ExpiredTokenException"), AccessError, 400),
    "another document": (Reply(200, b'{"answer": 42}'), UnknownReplyError, None),
}


class Recorded:
    """A client with a clock of its own, and what it told of its attempts."""

    def __init__(
        self,
        runtime: "SageMakerRuntimeClient | None" = None,
        *,
        url: str | None = None,
        api_key: str | None = None,
        **retry: float,
    ) -> None:
        self.clock = FakeClock()
        self.attempts: list[Attempt] = []
        self.client = DecisionClient(
            None if runtime is None else "demo",
            url=url,
            api_key=api_key,
            sagemaker_runtime=runtime,
            retry=Retry(**retry),  # type: ignore[arg-type]  # max_attempts is an int where it is given
            on_attempt=self.attempts.append,
            clock=self.clock,
        )

    def decide(self) -> str:
        return self.client.decide(STATE, "Which team?", ["billing", "shipping"]).choice

    def fail(self) -> DecisionError:
        with pytest.raises(DecisionError) as caught:
            self.decide()
        found = caught.value
        assert "\n" not in str(found)
        assert "mauve" not in f"{found} {found!r} {found.__cause__} {found.__dict__}"
        return found


@pytest.mark.parametrize(("reply", "kind", "status", "code"), RETRIED.values(), ids=RETRIED)
def test_what_may_pass_is_asked_again(
    stand_in: StandIn,
    runtime: "SageMakerRuntimeClient",
    adapter_url: str,
    reply: Reply,
    kind: type[DecisionError],
    status: int | None,
    code: str | None,
) -> None:
    stand_in.behind, stand_in.script = adapter_url, [reply, reply]
    recorded = Recorded(runtime)
    assert recorded.decide() in {"billing", "shipping"}
    assert len(stand_in.bodies) == 3
    assert stand_in.bodies[0] == stand_in.bodies[2]
    assert [(attempt.number, attempt.status, attempt.code) for attempt in recorded.attempts] == [
        (1, status, code),
        (2, status, code),
        (3, 200, None),
    ]
    assert [attempt.retry_in_seconds for attempt in recorded.attempts] == [*recorded.clock.waits, None]


@pytest.mark.parametrize(("reply", "kind", "status", "code"), RETRIED.values(), ids=RETRIED)
def test_what_never_passes_ends_typed(
    stand_in: StandIn,
    runtime: "SageMakerRuntimeClient",
    reply: Reply,
    kind: type[DecisionError],
    status: int | None,
    code: str | None,
) -> None:
    stand_in.script = [reply] * 9
    found = Recorded(runtime).fail()
    assert type(found) is kind
    assert (found.status, found.code, found.attempts) == (status, code, 5)
    assert str(found).endswith("; given up after 5 attempts")
    assert "None" not in str(found)
    assert len(stand_in.bodies) == 5


@pytest.mark.parametrize(("reply", "kind", "status"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_pass_is_asked_once(
    stand_in: StandIn,
    runtime: "SageMakerRuntimeClient",
    reply: Reply,
    kind: type[DecisionError],
    status: int | None,
) -> None:
    stand_in.script = [reply]
    recorded = Recorded(runtime)
    found = recorded.fail()
    assert type(found) is kind
    assert (found.status, found.attempts, len(stand_in.bodies)) == (status, 1, 1)
    assert [attempt.retry_in_seconds for attempt in recorded.attempts] == [None]


def test_a_hint_is_the_least_that_is_waited_and_jitter_comes_on_top(
    stand_in: StandIn, runtime: "SageMakerRuntimeClient"
) -> None:
    stand_in.script = [model_error(503, OVERLOADED)] * 9
    recorded = Recorded(runtime)
    found = recorded.fail()
    assert recorded.clock.waits == [1.5 + 0.125, 1.5 + 0.25, 1.5 + 0.5, 1.5 + 1.0]
    assert (found.retry_after_seconds, found.path) == (1.5, None)
    assert "overloaded: told by the adapter; try again in 1.5 s" in str(found)


def test_a_hint_beyond_the_end_is_no_wait(stand_in: StandIn, runtime: "SageMakerRuntimeClient") -> None:
    stand_in.script = [model_error(503, adapter_error("draining", retry_after_seconds=61))]
    recorded = Recorded(runtime)
    assert recorded.fail().attempts == 1
    assert recorded.clock.waits == []


def test_a_refusal_names_code_and_place(stand_in: StandIn, runtime: "SageMakerRuntimeClient") -> None:
    stand_in.script = [model_error(400, adapter_error("invalid_request", path="decision.question"))]
    found = Recorded(runtime).fail()
    assert str(found) == (
        "the container answered 400 invalid_request at decision.question: told by the adapter"
    )
    assert (found.code, found.path) == ("invalid_request", "decision.question")


@pytest.mark.parametrize("said", ["", "<html>\n<h1>Bad gateway</h1>", '{"error": "x"}', "null", "no " * 999])
def test_an_error_that_is_not_the_wires_is_still_one_short_line(
    stand_in: StandIn, runtime: "SageMakerRuntimeClient", said: str
) -> None:
    stand_in.script = [model_error(418, said)]
    found = Recorded(runtime).fail()
    assert str(found).startswith("the container answered 418: ")
    assert len(str(found)) < 300


def test_system_ones_errors_are_read_too(stand_in: StandIn, runtime: "SageMakerRuntimeClient") -> None:
    invalid = {"detail": [{"loc": ["body", "questions", "q"], "msg": "has no criteria", "type": "missing"}]}
    busy = {"detail": {"error_type": "overloaded", "message": "full; try again in 2 s"}}
    stand_in.script = [model_error(503, json.dumps(busy)), model_error(422, json.dumps(invalid))]
    recorded = Recorded(runtime)
    found = recorded.fail()
    assert (recorded.attempts[0].code, found.code) == ("overloaded", "missing")
    assert str(found).startswith("the container answered 422 missing at body.questions.q: has no criteria")


def test_openais_errors_are_read_too(stand_in: StandIn, runtime: "SageMakerRuntimeClient") -> None:
    said = {"message": "input is missing", "type": "invalid_request_error", "param": "input", "code": "wrong"}
    stand_in.script = [model_error(400, json.dumps({"error": said}))]
    found = Recorded(runtime).fail()
    assert (found.code, found.path) == ("wrong", "input")
    assert str(found).startswith("the container answered 400 wrong: input is missing")


def slow_runtime(url: str) -> "SageMakerRuntimeClient":
    config = INVOKE.merge(botocore.config.Config(read_timeout=1.5))
    return Aws(region="us-east-1", endpoint_url=url).session.client(
        "sagemaker-runtime", endpoint_url=url, config=config
    )


@pytest.mark.parametrize("place", ["endpoint", "url"])
def test_one_slow_call_is_one_call(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    # The test does not wait SageMaker's minute: for it the limits are shorter.
    monkeypatch.setattr("semif.client.transports.endpoint_transport.SAGEMAKERS_SECONDS", 0)
    monkeypatch.setattr("semif.client.transports.url_transport.ATTEMPT_SECONDS", 1.5)
    stand_in.open = threading.Event()
    recorded = Recorded(slow_runtime(stand_in.url)) if place == "endpoint" else Recorded(url=stand_in.url)
    found = recorded.fail()
    stand_in.open.set()
    assert type(found) is AnswerTimeoutError
    assert "gave no answer in time, 1.5 s" in str(found)
    assert (found.status, found.attempts, len(stand_in.bodies)) == (None, 1, 1)


def test_a_client_of_botocores_that_repeats_or_hurries_is_refused(runtime: "SageMakerRuntimeClient") -> None:
    assert runtime.meta.config.read_timeout > 60  # type: ignore[attr-defined]  # the stubs lack it
    session = Aws(region="us-east-1", endpoint_url="http://127.0.0.1:9").session
    for config in (None, botocore.config.Config(retries={"total_max_attempts": 1})):
        with pytest.raises(SemifError, match=r"repeats requests itself or waits 60 s or less; make it with"):
            DecisionClient("demo", sagemaker_runtime=session.client("sagemaker-runtime", config=config))
    with DecisionClient("demo", session=session) as made:
        runtime_of_its_own = made._transport._client  # type: ignore[attr-defined]
        assert runtime_of_its_own.meta.config.retries["total_max_attempts"] == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give the name of an endpoint, or url="),
        ({"endpoint": "a", "url": "http://127.0.0.1"}, "and not both"),
        ({"url": "http://127.0.0.1", "region": "eu-west-1", "profile": "p"}, "region and profile is of AWS"),
        ({"endpoint": "a", "api_key": "k"}, "api_key is for url="),
        ({"endpoint": "a", "profile": "no-such-profile"}, "there is no AWS profile no-such-profile"),
        (
            {"url": "http://127.0.0.1", "connections": 0},
            "connections = 0: must be a whole number of 1 or more",
        ),
        ({"url": "http://127.0.0.1", "connections": "8"}, "connections = '8': must be a whole number"),
        ({"url": "ftp://127.0.0.1"}, "cannot be asked"),
    ],
)
def test_a_place_is_an_endpoint_or_an_address(given: dict[str, object], message: str) -> None:
    with pytest.raises(SemifError, match=message):
        DecisionClient(**given)  # type: ignore[arg-type]  # that is what is tested


@pytest.mark.parametrize(
    "url",
    [
        *("", "nowhere", "http://", "http://:80", "http://127.0.0.1:99999", "http://a b"),
        *("http://127.0.0.1:9?x=1", "http://127.0.0.1:9#x", "http://user:word@127.0.0.1:9"),
    ],
)
def test_a_url_that_is_none_is_told_in_one_line(url: str) -> None:
    with pytest.raises(SemifError, match=r"cannot be asked: an address is http:// or https://") as caught:
        DecisionClient(url=url)
    assert "\n" not in str(caught.value)
    assert "word" not in str(caught.value)


def test_an_address_hints_by_header_where_its_body_does_not(stand_in: StandIn, adapter_url: str) -> None:
    stand_in.behind = adapter_url
    later = {"Retry-After": "7"}
    stand_in.script = [
        Reply(503, OVERLOADED, later),
        Reply(429, b"busy", later),
        Reply(503, b"busy", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
    ]
    recorded = Recorded(url=stand_in.url)
    recorded.decide()
    assert recorded.clock.waits == [1.5 + 0.125, 7 + 0.25, 0.5]


def test_an_address_that_nobody_listens_on_is_told_without_objects_and_numbers() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    found = Recorded(url=url).fail()
    assert type(found) is UnreachableError
    assert found.message == (
        f"{url}/invocations cannot be reached: connection refused; is the adapter running there?"
    )
    assert found.attempts == 5


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (Reply(404, b"<!DOCTYPE html><h1>Not found</h1>"), RequestRefusedError, "answered 404: a web page"),
        (
            Reply(307, b"", {"Location": "http://127.0.0.1:9/"}),
            RequestRefusedError,
            "answered 307 and sends on to 'http://127.0.0.1:9/', where nothing is sent",
        ),
        (
            Reply(400, adapter_error("\x1b[31m", path="\x9b")),
            RequestRefusedError,
            "answered 400 �[31m at �: told by the adapter",
        ),
        (
            Reply(200, b'{"result": {"\\u001b' + b"x" * 9999 + b'": 1}}'),
            UnknownReplyError,
            "DecisionResponse",
        ),
        (
            Reply(
                400, json.dumps({"error": {"code": "c", "message": "x" * 9999}, "retryable": False}).encode()
            ),
            RequestRefusedError,
            "answered 400 c: xxx",
        ),
        (Reply(202, b"later"), UnknownReplyError, "answered 202: later"),
        (Reply(400, b'{"message": null}'), RequestRefusedError, 'answered 400: {"message": null}'),
        (Reply(400, b"\x1b[31mred\x07"), RequestRefusedError, "answered 400: �[31mred�"),
        (Reply(200, b'{"result": {}}'), UnknownReplyError, "the reply is not one of this version's"),
        (Reply(200, b""), UnknownReplyError, "the reply is not one of this version's"),
        (Reply(200, b'{"error": "with status 200"}'), UnknownReplyError, "the reply is not one of this"),
    ],
)
def test_another_server_is_no_adapter(
    stand_in: StandIn, reply: Reply, kind: type[DecisionError], message: str
) -> None:
    stand_in.script = [reply]
    found = Recorded(url=stand_in.url).fail()
    assert type(found) is kind
    assert message in str(found)
    assert len(str(found)) <= 1000
    assert str(found).isprintable()
    assert len(stand_in.bodies) == 1


IMPOSSIBLE: dict[str, dict[str, object]] = {
    "another decision": {"id": "other"},
    "other options": {"option_ids": ("shipping", "billing")},
    "not a number": {"probabilities": (math.nan, 0.5)},
    "over 1": {"probabilities": (2.0, -1.0)},
    "no sum": {"probabilities": (0.5, 0.4)},
    "too few probabilities": {"probabilities": (1.0,)},
    "too few logits": {"option_logits": (1.0,)},
    "no finite logit": {"option_logits": (1.0, math.inf)},
    "no share": {"allowed_token_mass": 1.5},
}


@pytest.mark.parametrize("wrong", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_wrong_numbers_are_no_answer(stand_in: StandIn, wrong: dict[str, object]) -> None:
    right = answer({"billing": 0.75, "shipping": 0.25}, mass=1.0, name="decision").raw.model_dump()
    documents = [{"result": right}, {"result": right | wrong}]
    stand_in.script = [Reply(200, json.dumps(document).encode()) for document in documents]
    recorded = Recorded(url=stand_in.url)
    assert recorded.decide() == "billing"
    assert type(recorded.fail()) is UnknownReplyError


def test_a_reply_is_read_in_the_encoding_it_names(stand_in: StandIn) -> None:
    right = answer({"billing": 0.75, "shipping": 0.25}, name="decision").raw
    body = DecisionResponse(result=right).model_dump_json().encode()
    gzipped = {"Content-Encoding": "gzip"}
    stand_in.script = [Reply(200, gzip.compress(body), gzipped), *[Reply(200, body, gzipped)] * 9]
    recorded = Recorded(url=stand_in.url)
    assert recorded.decide() == "billing"
    assert "sends bytes that are not in the encoding it names" in str(recorded.fail())


def test_no_proxy_stands_between_this_machine_and_itself(
    stand_in: StandIn, adapter_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    stand_in.behind = adapter_url
    assert Recorded(url=stand_in.url, max_attempts=1).decide()
    found = Recorded(url="http://elsewhere.invalid", max_attempts=1).fail()
    assert "cannot be reached: the proxy does not let us through" in str(found)


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_a_proxy_is_asked_with_its_name_and_password(
    stand_in: StandIn, adapter_url: str, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("http_proxy", f"{scheme}us%40er:tulip@{stand_in.url.removeprefix('http://')}")
    stand_in.behind = adapter_url
    stand_in.script = [Reply(407)]
    recorded = Recorded(url="http://elsewhere.invalid")
    found = recorded.fail()
    assert type(found) is AccessError
    assert "tulip" not in f"{found} {found.__dict__} {recorded.client!r}"
    assert recorded.decide() in {"billing", "shipping"}
    expected = "Basic " + base64.b64encode(b"us@er:tulip").decode()
    assert [headers["Proxy-Authorization"] for headers in stand_in.headers] == [expected] * 2


@pytest.mark.parametrize(
    "proxy", ["socks5://me:tulip@127.0.0.1:9", "http://tulip:word:9", "http://127.0.0.1:99999"]
)
def test_a_proxy_that_is_none_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(SemifError, match="the proxy of this machine's settings") as caught:
        DecisionClient(url="http://elsewhere.invalid")
    assert "tulip" not in str(caught.value)


@pytest.mark.parametrize("end", ["", "/", "/invocations", "/invocations/"])
def test_an_address_may_be_the_servers_or_the_forms(stand_in: StandIn, adapter_url: str, end: str) -> None:
    with DecisionClient(url=adapter_url + end) as client:
        client.decide(STATE, "Which team?", ["billing", "shipping"])


@pytest.mark.parametrize("place", ["endpoint", "url"])
def test_a_body_over_the_limit_is_not_sent(
    stand_in: StandIn, runtime: "SageMakerRuntimeClient", place: str
) -> None:
    recorded = Recorded(runtime) if place == "endpoint" else Recorded(url=stand_in.url)
    with pytest.raises(RequestRefusedError, match=rf"SageMaker takes {MAX_BODY_BYTES}") as caught:
        recorded.client.decide("x" * MAX_BODY_BYTES, "q", ["a", "b"])
    with pytest.raises(RequestRefusedError, match=rf"SageMaker takes {MAX_BODY_BYTES}"):
        recorded.client.ask(b" " * (MAX_BODY_BYTES + 1))
    assert (caught.value.code, caught.value.attempts) == ("body_too_large", 0)
    assert (stand_in.bodies, recorded.attempts) == ([], [])


def test_the_adapters_own_smaller_limit_is_a_refusal_and_no_reset(adapter_url: str) -> None:
    client = DecisionClient(url=adapter_url)
    with client, pytest.raises(RequestRefusedError, match=r"413 body_too_large: .*4194304 bytes") as caught:
        client.decide("x" * (MAX_BODY_BYTES - 1000), "q", ["a", "b"])
    assert (caught.value.status, caught.value.attempts) == (413, 1)


def test_errors_survive_a_process_pool() -> None:
    error = OverloadedError("busy", status=503, code="overloaded", retry_after_seconds=2.0)
    error.attempts = 3
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is OverloadedError
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


@pytest.mark.parametrize("key", ["", "tulip\n", "tulip tulip", "túlip→"])
def test_a_key_that_no_header_holds_is_refused_untold(key: str) -> None:
    with pytest.raises(SemifError, match="API key must be visible ASCII") as caught:
        DecisionClient(url="http://127.0.0.1:9", api_key=key)
    assert "lip" not in str(caught.value)


def test_an_api_key_is_sent_and_told_nobody(stand_in: StandIn) -> None:
    stand_in.script = [Reply(401, adapter_error("authentication_error"))]
    recorded = Recorded(url=stand_in.url, api_key="tulip")
    found = recorded.fail()
    assert type(found) is AccessError
    assert stand_in.headers[0]["Authorization"] == "Bearer tulip"
    assert "tulip" not in f"{found} {found!r} {found.__dict__} {recorded.client!r}"
