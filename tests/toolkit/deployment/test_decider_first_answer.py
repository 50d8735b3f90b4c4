"""A first answer of Strands Decider: one that no GPU gave is told, however well the endpoint answers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from semif.aws.clients import Aws
from semif.client.reply import WireAnswer
from semif.deployment.kinds import DEPLOYED_KINDS
from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.project.root import PROJECT_VARIABLE
from semif.target.target import Target
from tests.support.models.checkpoints import ENVIRONMENT, decider_project
from tests.support.servers.sagemaker_stand_in import Reply, StandIn

DECIDER = DEPLOYED_KINDS["decider"]


def reply(latency_ms: float | None) -> bytes:
    shares = {"blue": 0.9, "green": 0.1}
    answer = {"type": "choice", "choice": "blue", "probabilities": shares, "confidence": 0.8}
    told = {} if latency_ms is None else {"latency_ms": latency_ms}
    usage = {"input_tokens": 40, "output_tokens": 1}
    return json.dumps({"model": "tiny", "answers": {"colour": answer}, "usage": usage, **told}).encode()


@pytest.fixture
def target(
    stand_in: StandIn,
    environment_of: Callable[..., Environment],
    tmp_path: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Target:
    monkeypatch.setenv(PROJECT_VARIABLE, str(decider_project(tmp_path / "project", root)))
    environment = environment_of(ENVIRONMENT, name="judge")
    aws = Aws(region="us-east-1", endpoint_url=stand_in.url)
    return Target(tmp_path, environment, aws, "111122223333", tmp_path / "lock", local=False, poll_seconds=0)


def test_the_processors_time_is_told_and_a_gpus_is_enough_once(target: Target, stand_in: StandIn) -> None:
    stand_in.script = [Reply(200, reply(taken)) for taken in (9000.0, 5650.0, 5600.0, 5700.0)]
    with pytest.raises(SemifError, match=r"semif-judge took 5\.6 s .* computes on the processors"):
        DECIDER.ask(target)
    stand_in.script = [Reply(200, reply(taken)) for taken in (9000.0, 4100.0, 131.0)]
    answer = DECIDER.ask(target)
    assert isinstance(answer, WireAnswer)
    assert json.loads(answer.raw)["latency_ms"] == 131.0
    stand_in.script = [Reply(200, reply(None))] * 2
    DECIDER.ask(target)  # by the call's own time


def test_an_answer_of_the_queue_is_judged_too() -> None:
    DECIDER.read("semif-judge", reply(480.0))
    DECIDER.read("semif-judge", reply(None))
    with pytest.raises(SemifError, match=r"took 5\.6 s"):
        DECIDER.read("semif-judge", reply(5600.0))
