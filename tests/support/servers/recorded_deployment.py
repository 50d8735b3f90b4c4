"""A deployment of an endpoint in recorded replies of AWS, with a shell script in place of the CDK's CLI.

What SageMaker and CloudFormation do in an update is not seen here: their replies are what their API allows.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from semif.environment.environment import load_environment
from semif.lock.lock_file import TEMPLATE_METADATA, Lock, lock_path, write_lock
from semif.project.root import PROJECT_VARIABLE, project_root
from semif.target.target import Target
from tests.support.servers.recorded import Recorded, Reply

EXAMPLE = json.loads((Path(__file__).parents[2] / "infra" / "locks" / "demo.json").read_bytes())
ARN = "arn:aws:sagemaker:eu-central-1:111122223333:endpoint/semif-demo"


def lock_of(digit: str, environment: str = "demo") -> Lock:
    """A lock of the demo's pins, whose image has a digest of this digit."""
    content = {key: value for key, value in EXAMPLE.items() if key != "example"}
    content["environment"] = environment
    uri = content["image"]["uri"].partition("@")[0] + "@sha256:" + digit * 64
    return Lock.model_validate(content | {"image": content["image"] | {"uri": uri}})


def recorded_target(account: Recorded, folder: Path, monkeypatch: pytest.MonkeyPatch, lock: Lock) -> Target:
    """The environment of `lock` in a project of its own in `folder`, and an account without replies yet."""
    for name in ("environments", "models"):
        shutil.copytree(project_root() / name, folder / name)
    monkeypatch.setenv(PROJECT_VARIABLE, str(folder))
    account.clear()
    path = lock_path(lock.environment)
    write_lock(path, lock)
    environment = load_environment(lock.environment)
    return Target(folder, environment, account.aws, lock.account, path, local=False, poll_seconds=0)


def cdk(target: Target, script: str, template: dict[str, Any] | None = None) -> None:
    """Have the CDK's CLI be this shell script, and synthesise `template`: by default, as it is deployed."""
    path = target.root / "node_modules" / ".bin" / "cdk"
    path.parent.mkdir(parents=True, exist_ok=True)
    (target.root / "template.json").write_text(json.dumps(template or {}))
    template_file = f"{target.environment.endpoint_stack}.template.json"
    find_output = 'while [ "$1" != --output ]; do shift; done'
    synth = f'if [ "$1" = synth ]; then {find_output}; cp template.json "$2/{template_file}"; exit; fi'
    path.write_text(f"#!/bin/sh\n{synth}\n{script}\n")
    path.chmod(0o755)


def configured(*types: str, model: str = "m") -> dict[str, Any]:
    """A template with the configuration of an endpoint on these types."""
    times = {"ModelDataDownloadTimeoutInSeconds": 60, "ContainerStartupHealthCheckTimeoutInSeconds": 60}
    pools = [{"InstanceType": one, "Priority": number} for number, one in enumerate(types, 1)]
    place = {"InstancePools": pools} if len(types) > 1 else {"InstanceType": types[0]}
    variant = {**times, **place, "ModelName": model}
    config = {"Type": "AWS::SageMaker::EndpointConfig", "Properties": {"ProductionVariants": [variant]}}
    return {"Resources": {"Config": config}}


def endpoint(status: str, config: str = "config-new", **more: Any) -> Reply:
    """One look at the endpoint, as DescribeEndpoint tells it."""
    times = {"CreationTime": 0, "LastModifiedTime": 0}
    told = {"EndpointName": "semif-demo", "EndpointArn": ARN, "EndpointConfigName": config}
    return {**told, **times, "EndpointStatus": status, **more}


def fleet(current: int, desired: int, *stages: str) -> list[dict[str, Any]]:
    """The ProductionVariants of an endpoint."""
    return [
        {
            "VariantName": "AllTraffic",
            "CurrentInstanceCount": current,
            "DesiredInstanceCount": desired,
            "VariantStatus": [{"Status": stage} for stage in stages],
        }
    ]


def tell_stack(
    account: Recorded, deployed: Lock | None, *, config: str = "config-new", status: str = "UPDATE_COMPLETE"
) -> None:
    """The Endpoint stack: with which lock it was deployed before, and which configuration it has after."""
    cloudformation = account.aws.cloudformation
    if deployed is None:
        missing = ("ValidationError", "Stack with id Semif-demo-Endpoint does not exist")
        account.tell(cloudformation, "describe_stacks", missing)
    else:
        stack = {"StackName": "Semif-demo-Endpoint", "CreationTime": 0, "StackStatus": status}
        account.tell(cloudformation, "describe_stacks", {"Stacks": [stack]})
        template = {"Resources": {}, "Metadata": {TEMPLATE_METADATA: deployed.content()}}
        account.tell(cloudformation, "get_template", {"TemplateBody": json.dumps(template)})
    resource = {
        "LogicalResourceId": "EndpointConfig1A2B",
        "PhysicalResourceId": f"arn:aws:sagemaker:eu-central-1:111122223333:endpoint-config/{config.lower()}",
        "ResourceType": "AWS::SageMaker::EndpointConfig",
        "LastUpdatedTimestamp": 0,
        "ResourceStatus": "UPDATE_COMPLETE",
    }
    account.tell(cloudformation, "list_stack_resources", {"StackResourceSummaries": [resource]})


def tell_endpoint(account: Recorded, lock: Lock, *looks: Reply, before: Lock | None = None) -> None:
    """What each look at the endpoint finds, the last one from then on.

    It runs the image of `before` at the first look, where there is one, and that of `lock` from then on.
    """
    sagemaker = account.aws.sagemaker
    account.tell(sagemaker, "describe_endpoint", *looks)
    config = {"EndpointConfigName": "c", "EndpointConfigArn": "a" * 20, "CreationTime": 0}
    variant = {"VariantName": "AllTraffic", "ModelName": "model", "InstanceType": "ml.c6i.large"}
    account.tell(sagemaker, "describe_endpoint_config", config | {"ProductionVariants": [variant]})
    tell_model(account, *filter(None, [before, lock]))


def tell_model(account: Recorded, *locks: Lock) -> None:
    """What the endpoint's Model pins at each look, the last one from then on."""
    model = {"ModelName": "model", "ModelArn": "a" * 20, "CreationTime": 0}
    containers = [{"Image": one.image_uri, "ModelDataUrl": one.model.address} for one in locks]
    told = [model | {"PrimaryContainer": one} for one in containers]
    account.tell(account.aws.sagemaker, "describe_model", *told)
