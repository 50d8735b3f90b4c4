"""Stacks of kind `decider`: the published container, files under a prefix, a host with its driver."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk.assertions import Match, Template

from semif.environment.environment import Environment
from semif.errors import ProblemsError
from semif.lock.check import check_lock
from semif.lock.lock_file import Lock
from semif.project.root import PROJECT_VARIABLE
from tests.support.models.checkpoints import DIGEST, ENVIRONMENT, decider_project

Synth = Callable[[Environment, Lock | None], dict[str, Any]]

OPERATED = """
[scaling]
max_instance_count = 3
[alarms]
"""


def test_its_stacks(
    synth: Synth,
    environment_of: Callable[..., Environment],
    example_lock: Callable[[Environment], Lock],
    tmp_path: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PROJECT_VARIABLE, str(decider_project(tmp_path / "project", root)))
    environment = environment_of(ENVIRONMENT + OPERATED, name="judge")
    lock = example_lock(environment)
    templates = synth(environment, lock)
    endpoint = Template.from_json(templates["Endpoint"])
    endpoint.has_resource_properties(
        "AWS::SageMaker::Model",
        {
            "EnableNetworkIsolation": True,
            "PrimaryContainer": {
                "Image": f"763104351884.dkr.ecr.eu-central-1.amazonaws.com/strands-decider@{DIGEST}",
                "Environment": environment.container_variables,
                "ModelDataSource": {
                    "S3DataSource": {
                        "CompressionType": "None",
                        "S3DataType": "S3Prefix",
                        "S3Uri": lock.model.address,
                    }
                },
                "ModelDataUrl": Match.absent(),
            },
        },
    )
    endpoint.has_resource_properties(
        "AWS::SageMaker::EndpointConfig",
        {
            "ProductionVariants": [
                Match.object_like(
                    {
                        "InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1",
                        "InstanceType": "ml.g6.xlarge",
                    }
                )
            ]
        },
    )
    endpoint.resource_count_is("AWS::ApplicationAutoScaling::ScalingPolicy", 1)
    alarms = endpoint.find_resources("AWS::CloudWatch::Alarm").values()
    names = {str(alarm["Properties"]["AlarmName"]) for alarm in alarms}
    assert "semif-judge-model-latency" in names
    assert not {name for name in names if "refusal" in name or "mass" in name}
    artifacts = Template.from_json(templates["Artifacts"])
    artifacts.resource_count_is("AWS::ECR::Repository", 0)
    artifacts.resource_count_is("AWS::CodeBuild::Project", 1)

    other = lock.model_copy(update={"image": lock.image.model_copy(update={"uri": lock.image.base})})
    with pytest.raises(ProblemsError, match=r"image\.uri is .* for decider in eu-central-1"):
        check_lock(other, environment, source="lock")
