"""The steps `update`, `rollback` and `GPU` on recorded replies of AWS: what they see, and what surprises.

On the local AWS the first two run whole, and see what they should (`tests/e2e/test_verify.py`).
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from semif.aws.clients import Aws
from semif.client.request import DECISION_ID
from semif.deployment.kinds import DEPLOYED_KINDS
from semif.lock.lock_file import lock_path, write_lock
from semif.project.root import PROJECT_VARIABLE
from semif.testing.answers import reply_to
from semif.verify import forms
from semif.verify.step import Bench, SurpriseError
from semif.verify.steps import change_steps, setting_steps
from tests.support.checkout import REPOSITORY
from tests.support.servers.recorded import Recorded, Reply
from tests.support.servers.recorded_deployment import (
    cdk,
    endpoint,
    fleet,
    lock_of,
    tell_endpoint,
    tell_stack,
)

NAME = "verify-demo"
LOCK = lock_of("1", NAME)
SAME, MOVED = "config-old", "config-new"
IN_SERVICE = endpoint("InService", SAME, ProductionVariants=fleet(1, 1))
BAKING = endpoint("Updating", SAME, ProductionVariants=fleet(1, 1, "Baking"))
AFTER = endpoint("InService", MOVED, ProductionVariants=fleet(1, 1))


class Answer:
    """The body of InvokeEndpoint's reply, which every caller reads from its beginning."""

    def __init__(self, request: bytes = DEPLOYED_KINDS["decision"].smoke_request, **model: Any) -> None:
        reply = json.loads(reply_to(request, lambda decision: decision.options[0].id))
        reply["result"]["model"] |= model
        self._content = json.dumps(reply).encode()

    def read(self) -> bytes:
        return self._content


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    """One for all tests here: its clients take a second to make."""
    services = ("cloudformation", "cloudwatch", "sagemaker", "sagemaker_runtime", "logs", "sts")
    return Recorded(*services)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Of the demo, in a project of its own, its throw-away environment deployed."""
    for folder in ("environments", "models"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    tables = {
        "kind": "decision",
        "model": {"preset": "embedded"},
        "endpoint": {"instance_type": "ml.c6i.large"},
    }
    bench = Bench("demo", tables, local=False, profile=None, tolerance=0.02)
    bench.write(forms.realtime(tables))
    write_lock(lock_path(NAME), LOCK)
    return bench


@pytest.fixture
def account(recorded: Recorded, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """Where the endpoint is in service and answers, and an update that the CDK runs succeeds."""
    monkeypatch.setattr(Aws, "from_profile", lambda **_: recorded.aws)
    recorded.clear()
    recorded.tell(recorded.aws.sts, "get_caller_identity", {"Account": LOCK.account})
    recorded.tell(recorded.aws.sagemaker_runtime, "invoke_endpoint", {"Body": Answer()})
    recorded.tell(recorded.aws.cloudwatch, "set_alarm_state", {})
    recorded.tell(recorded.aws.logs, "describe_log_streams", {"logStreams": []})
    tell_stack(recorded, LOCK, config=MOVED)
    cdk(bench.target(), "exit 0")
    return recorded


def looks(*during: Reply, after: Reply) -> list[Reply]:
    """Before: the step's look and the deployment's; then those of the watch; then how it ended."""
    return [IN_SERVICE, IN_SERVICE, *during, after]


def test_an_update_that_moves_the_endpoint_under_traffic_is_seen(account: Recorded, bench: Bench) -> None:
    tell_endpoint(account, LOCK, *looks(BAKING, after=AFTER))
    said = change_steps.update(bench)
    assert "Updating, Baking at 0 s" in said
    assert "requests meanwhile, all answered" in said
    assert account.asked.count("InvokeEndpoint") >= 1
    assert f"turn_tokens = {change_steps.UPDATED['turn_tokens']}" in bench.path.read_text()


@pytest.mark.parametrize(
    ("during", "after", "surprise"),
    [
        (BAKING, IN_SERVICE, "the endpoint still has the configuration config-old"),
        (IN_SERVICE, AFTER, "no stage of ActivatingTraffic, Baking was seen, only InService at 0 s"),
    ],
)
def test_an_update_that_moves_nothing_or_unseen_is_a_surprise(
    account: Recorded, bench: Bench, during: Reply, after: Reply, surprise: str
) -> None:
    tell_stack(account, LOCK, config=SAME if after is IN_SERVICE else MOVED)
    tell_endpoint(account, LOCK, *looks(during, after=after))
    with pytest.raises(SurpriseError, match=surprise):
        change_steps.update(bench)


def test_an_update_during_which_requests_fail_is_a_surprise(account: Recorded, bench: Bench) -> None:
    tell_endpoint(account, LOCK, *looks(BAKING, after=AFTER))
    refusal = ("ValidationError", "Endpoint semif-verify-demo not found.")
    account.tell(account.aws.sagemaker_runtime, "invoke_endpoint", refusal)
    with pytest.raises(SurpriseError, match=r"requests failed meanwhile, the last: .*not found"):
        change_steps.update(bench)


def test_a_rollback_on_the_alarm_is_seen(account: Recorded, bench: Bench) -> None:
    tell_endpoint(account, LOCK, *looks(BAKING, after=IN_SERVICE))
    cdk(bench.target(), "echo UPDATE_ROLLBACK_COMPLETE; exit 1")
    said = change_steps.rollback(bench)
    assert said.startswith("back on its configuration, InService; Updating, Baking at 0 s")
    assert "the command said: cdk deploy Semif-verify-demo-Endpoint failed" in said
    assert account.asked.count("SetAlarmState") == 1
    assert f"turn_tokens = {change_steps.UPDATED['turn_tokens']}" in bench.path.read_text()


def test_an_update_that_goes_through_an_alarm_is_a_surprise(account: Recorded, bench: Bench) -> None:
    tell_endpoint(account, LOCK, *looks(BAKING, after=AFTER))
    with pytest.raises(SurpriseError, match="went through though container-errors was in ALARM"):
        change_steps.rollback(bench)
    assert account.asked.count("SetAlarmState") == 1


def test_an_endpoint_that_is_elsewhere_after_the_alarm_is_a_surprise(account: Recorded, bench: Bench) -> None:
    tell_endpoint(account, LOCK, *looks(BAKING, after=endpoint("Failed", MOVED)))
    cdk(bench.target(), "exit 1")
    with pytest.raises(SurpriseError, match="is Failed on config-new, before it was config-old"):
        change_steps.rollback(bench)


def test_an_alarm_that_may_not_be_set_ends_no_deployment(account: Recorded, bench: Bench) -> None:
    account.tell(account.aws.cloudwatch, "set_alarm_state", ("AccessDenied", "not you"))
    tell_endpoint(account, LOCK, *looks(BAKING, after=AFTER))
    with pytest.raises(SurpriseError, match="went through"):
        change_steps.rollback(bench)


def test_layers_on_a_gpu_are_seen(account: Recorded, bench: Bench) -> None:
    question = {"id": DECISION_ID, "state": "s", "question": "q", "options": [{"id": "yes"}, {"id": "no"}]}
    request, runtime = json.dumps({"decision": question}).encode(), account.aws.sagemaker_runtime
    on_gpu = Answer(request, gpu_layers=36, devices=["CUDA0"])
    account.tell(runtime, "invoke_endpoint", {"Body": on_gpu})
    assert setting_steps.gpu(bench) == "36 layers on ('CUDA0',)"
    account.tell(runtime, "invoke_endpoint", {"Body": Answer(request)})
    with pytest.raises(SurpriseError, match="0 layers are on a GPU"):
        setting_steps.gpu(bench)
