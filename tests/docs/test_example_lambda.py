"""examples/triage_lambda.py: it answers while API Gateway still listens, and is well again afterwards."""

import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from semif.project.root import project_root
from tests.support.servers.hanging import hanging
from tests.support.servers.sagemaker_stand_in import Reply, StandIn, adapter_error, service_error

PROGRAM = project_root() / "examples" / "triage_lambda.py"
TICKET = {"body": json.dumps({"ticket": "My card was charged twice."})}


class Context:
    """What Lambda gives: how long the invocation may still take."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return max(0, round(1000 * (self._ends - time.monotonic())))


@contextmanager
def deployed(url: str | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module as a Lambda that was just started has it; without a URL it asks the endpoint `demo`."""
    monkeypatch.setenv(*(("SEMIF_ENDPOINT", "demo") if url is None else ("SEMIF_URL", url)))
    spec = importlib.util.spec_from_file_location("triage_lambda", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    with module.client:
        yield module


def test_an_endpoint_that_hangs_is_told_before_the_gateway_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with hanging() as server, deployed(server.url, monkeypatch) as module:
        # A gateway of two seconds stands for that of 29: as much is kept back for the answer.
        monkeypatch.setattr(module, "GATEWAY_SECONDS", 2.0)
        monkeypatch.setattr(module, "KEPT_BACK_SECONDS", 1.0)
        context = Context(900)
        for _ in range(2):
            assert module.handler(TICKET, context)["statusCode"] == 504
    assert context.get_remaining_time_in_millis() > 0


def test_the_lambdas_own_end_counts_where_it_is_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    with hanging() as server, deployed(server.url, monkeypatch) as module:
        assert module.handler(TICKET, Context(1.5))["statusCode"] == 504


def test_the_same_lambda_answers_when_the_endpoint_is_well_again(
    stand_in: StandIn, adapter_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.behind, stand_in.script = adapter_url, [Reply(500, adapter_error("internal_error"))]
    with deployed(stand_in.url, monkeypatch) as module:
        assert module.handler(TICKET, Context(30))["statusCode"] == 503
        answered = module.handler(TICKET, Context(30))
        assert module.handler({"body": "{}"}, Context(30))["statusCode"] == 400
    assert answered["statusCode"] == 200
    assert json.loads(answered["body"])["team"] in {"billing", "shipping", "technical"}


def test_who_asks_is_not_to_blame_for_an_endpoint_that_is_gone(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": stand_in.url,
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    stand_in.script = [service_error(400, "ValidationError", "Endpoint demo of account 1 not found.")]
    with deployed(None, monkeypatch) as module:
        assert module.handler(TICKET, Context(30))["statusCode"] == 503
