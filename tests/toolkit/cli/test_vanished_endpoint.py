"""An endpoint that is gone while many are asked: it is told once, and no line and no task pays for it."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from semif import DecisionClient
from semif.background.request_file import RequestFile
from semif.cli.asking.decide_file import UnderPolicy, decide_file
from semif.client.errors import NoEndpointError
from semif.client.transports.endpoint_transport import EndpointTransport
from semif.evaluation.asking.asked_server import AskedTarget
from semif.evaluation.asking.evaluation import evaluate
from semif.evaluation.asking.forms.decision import DecisionForm
from semif.evaluation.runs.run_file import Asking, TargetName, read_run
from semif.evaluation.tasks.task_sets import read_task_sets
from semif.policy import load_policy
from semif.project.root import project_root
from semif_adapter.contract.wire import DecisionResponse
from tests.support.runs.policies import answer
from tests.support.servers.sagemaker_stand_in import Reply, StandIn, adapter_error, model_error, service_error

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

EXAMPLES = project_root() / "examples"
REFUND = json.loads((EXAMPLES / "refund.json").read_bytes())["decision"]
NOT_FOUND = "Endpoint demo of account 111122223333 not found."
GONE = {
    "deleted": service_error(400, "ValidationError", NOT_FOUND),
    # As the AWS on this machine says it of one that is made anew.
    "made anew": service_error(400, "ValidationError", "Endpoint demo is Creating, not InService."),
}
REFUSED = {
    "by the container": model_error(404, adapter_error("not_found")),
    "by the container in SageMaker's words": model_error(400, NOT_FOUND),
    "by SageMaker, for itself": service_error(400, "ValidationError", "1 validation error detected"),
}


def says(name: str) -> Reply:
    raw = answer((0.9, 0.06, 0.04), name=name).raw
    return Reply(200, DecisionResponse(result=raw).model_dump_json().encode())


@pytest.fixture
def asked(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Writes a file of four lines, each with the keys of a decision and these."""

    def write(beside: dict[str, Any]) -> Path:
        path = tmp_path / "asked.jsonl"
        path.write_text("".join(json.dumps({**REFUND, "id": name} | beside) + "\n" for name in "abcd"))
        return path

    return write


def evaluated(tasks: Path, output: Path, runtime: "SageMakerRuntimeClient") -> list[tuple[str, str]]:
    (read,) = read_task_sets([tasks])
    name = TargetName(kind="endpoint", name="demo")
    with closing(AskedTarget(name, DecisionForm(), EndpointTransport(runtime, "demo"))) as target:
        evaluate(target, [read], Asking(), output, lambda _, __: None)
    return [(record.task, record.status) for record in read_run(output).records]


@pytest.mark.parametrize("gone", GONE.values(), ids=GONE)
def test_an_evaluation_stops_and_goes_on_where_it_stopped(
    stand_in: StandIn,
    runtime: "SageMakerRuntimeClient",
    asked: Callable[[dict[str, Any]], Path],
    tmp_path: Path,
    gone: Reply,
) -> None:
    tasks, output = asked({"expected": "ask"}), tmp_path / "run.jsonl"
    stand_in.script = [says("probe"), says("a"), gone]
    with pytest.raises(NoEndpointError, match=r"Endpoint demo .*; deploy it, or "):
        evaluated(tasks, output, runtime)
    assert [record.task for record in read_run(output).records] == ["a"]
    stand_in.script = [says("probe"), *map(says, "bcd")]
    assert evaluated(tasks, output, runtime) == [(name, "answered") for name in "abcd"]


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_what_refuses_one_task_is_an_outcome(
    stand_in: StandIn,
    runtime: "SageMakerRuntimeClient",
    asked: Callable[[dict[str, Any]], Path],
    tmp_path: Path,
    refused: Reply,
) -> None:
    stand_in.script = [says("probe"), says("a"), refused, says("c"), says("d")]
    found = evaluated(asked({"expected": "ask"}), tmp_path / "run.jsonl", runtime)
    assert found == [("a", "answered"), ("b", "failed"), ("c", "answered"), ("d", "answered")]


@pytest.mark.parametrize("with_policy", [False, True])
@pytest.mark.parametrize("gone", GONE.values(), ids=GONE)
def test_a_file_of_decisions_stops_too(
    stand_in: StandIn,
    runtime: "SageMakerRuntimeClient",
    asked: Callable[[dict[str, Any]], Path],
    capsys: pytest.CaptureFixture[str],
    gone: Reply,
    with_policy: bool,
) -> None:
    stand_in.script = [says("a"), gone, gone, gone]
    under = UnderPolicy(load_policy(EXAMPLES / "refunds.policy.toml"), False) if with_policy else None
    with (
        RequestFile(asked({}), "decision") as requests,
        DecisionClient("demo", sagemaker_runtime=runtime, connections=1) as client,
        pytest.raises(NoEndpointError),
    ):
        decide_file(requests, {None: client}, under)
    told = capsys.readouterr()
    (record,) = map(json.loads, told.out.splitlines())
    assert (record["line"], record["status"]) == (1, "answered")
    assert told.err.endswith("semif: 1 answered; 3 lines have no record\n")
