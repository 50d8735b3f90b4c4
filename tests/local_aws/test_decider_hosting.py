"""The stand-in for Strands Decider's container: what it checks, and what callers get through an endpoint."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_aws.sagemaker.hosts.decider_server import Asked, CannotStartError, load, tokens
from semif.aws.clients import Aws
from semif.client.errors import RequestRefusedError
from semif.client.other_servers import read_other
from semif.deployment.first_answer import first_answer
from semif.environment.environment import Environment
from semif.project.root import PROJECT_VARIABLE
from semif.target.target import Target
from tests.support.models.checkpoints import (
    BASE,
    BASE_COMMIT,
    DIGEST,
    ENVIRONMENT,
    WINDOW,
    base_files,
    checkpoint_files,
    decider_project,
)
from tests.support.servers.local_aws import LocalAws
from tests.support.servers.local_endpoints import settled

BUCKET = "decider-models"
IMAGE = f"763104351884.dkr.ecr.us-east-1.amazonaws.com/strands-decider@{DIGEST}"
FOLDER = "Tiny_Decider"
SNAPSHOT = f"hf-cache/models--{BASE.replace('/', '--')}/snapshots/{BASE_COMMIT}"
VARIABLES = {
    "DECIDER_ARGS": "--strict-window",
    "DECIDER_CHECKPOINT": f"/opt/ml/model/{FOLDER}",
    "DECIDER_DEVICE": "cuda",
    "DECIDER_MAX_CONCURRENCY": "1",
    "DECIDER_WARMUP": "1",
    "HF_HUB_CACHE": "/opt/ml/model/hf-cache",
    "HF_HUB_OFFLINE": "1",
}
LONG = {
    "state": "word " * WINDOW,
    "questions": {"long": {"type": "score", "instructions": "How long?", "criteria": ["short", "long"]}},
}


def model_data() -> dict[str, bytes]:
    """Path in the model data to content."""
    return {
        **{f"{FOLDER}/{name}": content for name, content in checkpoint_files().items()},
        **{f"{SNAPSHOT}/{name}": content for name, content in base_files().items()},
    }


def placed(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_a_long_state_is_cut_unless_the_window_is_strict(tmp_path: Path) -> None:
    folder, asked = placed(tmp_path, model_data()), Asked.model_validate(LONG)
    with pytest.raises(ValueError, match=f"exceeds the context window of {WINDOW} tokens"):
        load(VARIABLES, folder).answer(asked)
    loose = load({**VARIABLES, "DECIDER_ARGS": "--max-batch 8"}, folder)
    cut = loose.answer(asked)
    assert cut["usage"]["input_tokens"] <= WINDOW < tokens(str(LONG["state"]))
    later = Asked.model_validate({**LONG, "state": f"{LONG['state']} and nobody reads this"})
    assert loose.answer(later)["answers"] == cut["answers"]


def test_a_lone_checkpoint_is_found_without_being_named(tmp_path: Path) -> None:
    folder = placed(tmp_path, model_data())
    unnamed = {name: value for name, value in VARIABLES.items() if name != "DECIDER_CHECKPOINT"}
    assert load(unnamed, folder).name == FOLDER
    placed(folder / "other", checkpoint_files())
    with pytest.raises(CannotStartError, match="2 checkpoints are in /opt/ml/model"):
        load(unnamed, folder)


@pytest.mark.parametrize(
    ("variables", "changed", "told"),
    [
        ({"DECIDER_PORT": "1"}, {}, "DECIDER_PORT is no variable"),
        ({"DECIDER_DEVICE": "cpu"}, {}, "built for GPUs"),
        ({"DECIDER_ARGS": "--vision-of-things"}, {}, "no such option: --vision-of-things"),
        ({"DECIDER_ARGS": "--max-batch many"}, {}, "max-batch"),
        ({"DECIDER_CHECKPOINT": "/opt/ml/model/none"}, {}, "0 checkpoints are in /opt/ml/model/none"),
        ({"HF_HUB_CACHE": "/opt/ml/model/elsewhere"}, {}, "is not in the cache of the hub"),
        ({}, {f"{FOLDER}/head.safetensors": None}, "lacks head.safetensors"),
        ({}, {f"{FOLDER}/head.safetensors": b"other"}, "head.safetensors is not what MANIFEST.sha256 says"),
        ({}, {f"{SNAPSHOT}/model.safetensors": None}, f"{BASE} at {BASE_COMMIT} is not in the cache"),
    ],
)
def test_a_wrong_layout_or_variable_keeps_it_from_starting(
    tmp_path: Path, variables: dict[str, str], changed: dict[str, bytes | None], told: str
) -> None:
    files = {**model_data(), **changed}
    folder = placed(tmp_path, {name: content for name, content in files.items() if content is not None})
    with pytest.raises(CannotStartError, match=told):
        load({**VARIABLES, **variables}, folder)


@pytest.fixture(scope="module")
def endpoint(local_aws: LocalAws) -> Iterator[None]:
    """`semif-judge` serves the tiny checkpoint, from a prefix."""
    local_aws.s3.create_bucket(Bucket=BUCKET)
    for name, content in model_data().items():
        local_aws.s3.put_object(Bucket=BUCKET, Key=f"files/{name}", Body=content)
    source: Any = {"S3DataType": "S3Prefix", "CompressionType": "None", "S3Uri": f"s3://{BUCKET}/files/"}
    local_aws.sagemaker.create_model(
        ModelName="judge",
        ExecutionRoleArn=f"arn:aws:iam::{local_aws.account}:role/hosting",
        PrimaryContainer={
            "Image": IMAGE,
            "ModelDataSource": {"S3DataSource": source},
            "Environment": VARIABLES,
        },
    )
    variant: Any = {"VariantName": "AllTraffic", "ModelName": "judge", "InstanceType": "ml.g6.xlarge"}
    local_aws.sagemaker.create_endpoint_config(
        EndpointConfigName="judge", ProductionVariants=[{**variant, "InitialInstanceCount": 1}]
    )
    local_aws.sagemaker.create_endpoint(EndpointName="semif-judge", EndpointConfigName="judge")
    assert settled(local_aws, "semif-judge") == ("InService", "")
    yield
    local_aws.sagemaker.delete_endpoint(EndpointName="semif-judge")


@pytest.fixture
def target(
    endpoint: None,
    local_aws: LocalAws,
    environment_of: Callable[..., Environment],
    tmp_path: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Target:
    monkeypatch.setenv(PROJECT_VARIABLE, str(decider_project(tmp_path / "project", root)))
    environment = environment_of(ENVIRONMENT, name="judge")
    assert environment.container_variables == VARIABLES
    aws = Aws(region=local_aws.region, endpoint_url=local_aws.endpoint_url)
    return Target(root, environment, aws, local_aws.account, tmp_path / "lock", local=True, poll_seconds=0.1)


def test_an_endpoint_answers_system_one_and_tells_what_it_refuses(target: Target) -> None:
    answer: Any = first_answer(target)
    reply = read_other(answer.raw)
    assert reply is not None
    assert (reply.model, list(reply.answers)) == (FOLDER, ["colour"])
    client = target.decision_client()
    example = client.ask((target.root / "examples" / "systemone.json").read_bytes())
    assert list(json.loads(example.raw)["answers"]) == ["refund", "team", "patience"]
    with pytest.raises(RequestRefusedError, match="exceeds the context window of 512 tokens") as too_long:
        client.ask(json.dumps(LONG).encode())
    assert too_long.value.status == 422
    secret = {"state": "s", "questions": {"q": {"type": "noul", "instructions": {"my": "secret words"}}}}
    with pytest.raises(RequestRefusedError) as wrong:
        client.ask(json.dumps(secret).encode())
    assert wrong.value.path == "body.questions.q.noul.instructions"
    assert "secret words" not in str(wrong.value)
