"""SageMaker hosting of the local AWS: what a container of a few lines answers is what callers see."""

import gzip
import io
import json
import random
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from semif.aws.clients import Aws
from semif.deployment.endpoint.watch import EndpointLook, EndpointWatch
from semif.target.endpoint_state import find_endpoint
from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import MODEL_ARCHIVE, MODEL_BUCKET, LocalAws
from tests.support.servers.local_endpoints import create, settled


def broken_archive() -> bytes:
    """A model.tar.gz whose header is sound and whose compressed data is not."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as packed:
        member = tarfile.TarInfo("model.gguf")
        member.size = 1_000_000
        packed.addfile(member, io.BytesIO(random.Random(0).randbytes(member.size)))
    data = bytearray(archive.getvalue())
    data[500_000:500_100] = bytes(100)
    return bytes(data)


def invoke(aws: LocalAws, name: str, status: int, body: object) -> dict[str, object]:
    """Ask the container to answer with `status` and `body`."""
    request = json.dumps({"status": status, "body": body})
    reply = aws.sagemaker_runtime.invoke_endpoint(
        EndpointName=name, Body=request, ContentType="application/json"
    )
    assert reply["InvokedProductionVariant"] == "primary"
    answer: dict[str, object] = json.loads(reply["Body"].read())
    return answer


@pytest.fixture(scope="module")
def endpoint(local_aws: LocalAws, container: Path) -> str:
    """An endpoint in service."""
    create(local_aws, container, "in-service")
    assert settled(local_aws, "in-service") == ("InService", "")
    return "in-service"


def test_an_endpoint_answers_what_its_container_answers(local_aws: LocalAws, endpoint: str) -> None:
    assert invoke(local_aws, endpoint, 200, {"result": 1}) == {"result": 1}
    binary = bytes(range(256))
    reply = local_aws.sagemaker_runtime.invoke_endpoint(
        EndpointName=endpoint, Body=binary, ContentType="application/x-image"
    )
    assert reply["Body"].read() == binary
    assert reply["ContentType"] == "application/x-image"


def test_files_under_a_prefix_are_copied_as_they_are(local_aws: LocalAws, container: Path) -> None:
    for name in ("files/a.gguf", "files/sub/b.json", "files-of-another/c.gguf"):
        local_aws.s3.put_object(Bucket=MODEL_BUCKET, Key=name, Body=b"GGUF")
    create(local_aws, container, "prefix", prefix="files/")
    assert settled(local_aws, "prefix") == ("InService", "")
    group = "/aws/sagemaker/Endpoints/prefix"
    (stream,) = local_aws.logs.describe_log_streams(logGroupName=group)["logStreams"]
    assert "container: model files ['a.gguf', 'sub']" in local_aws.log_lines(group, stream["logStreamName"])
    create(local_aws, container, "empty-prefix", prefix="nothing/")
    status, reason = settled(local_aws, "empty-prefix")
    assert (status, "there is nothing under" in reason) == ("Failed", True)


def test_describe_shows_pools_by_priority_and_the_image(local_aws: LocalAws, endpoint: str) -> None:
    described = local_aws.sagemaker.describe_endpoint(EndpointName=endpoint)
    (variant,) = described["ProductionVariants"]
    assert variant["InstancePools"] == [
        {"InstanceType": "ml.g6.xlarge", "CurrentInstanceCount": 1},
        {"InstanceType": "ml.g5.xlarge", "CurrentInstanceCount": 0},
    ]
    assert variant["DeployedImages"][0]["SpecifiedImage"].endswith("@sha256:" + "0" * 64)
    assert variant["CurrentInstanceCount"] == variant["DesiredInstanceCount"] == 1
    assert local_aws.sagemaker.describe_model(ModelName=endpoint)["EnableNetworkIsolation"] is True
    listed = local_aws.sagemaker.list_endpoints()["Endpoints"]
    assert endpoint in {one["EndpointName"] for one in listed}


def test_a_pool_of_gpus_falls_to_its_cpus_and_to_their_model(local_aws: LocalAws, container: Path) -> None:
    image = f"{local_aws.account}.dkr.ecr.{local_aws.region}.amazonaws.com/adapter@sha256:{'c' * 64}"
    local_aws.sagemaker.create_model(
        ModelName="for-cpus",
        ExecutionRoleArn=f"arn:aws:iam::{local_aws.account}:role/hosting",
        PrimaryContainer={
            "Image": image,
            "ModelDataUrl": f"s3://{MODEL_BUCKET}/{MODEL_ARCHIVE}",
            "Environment": {"PYTHONPATH": str(container)},
        },
    )
    cpu = {"InstanceType": "ml.c6i.xlarge", "Priority": 2, "ModelNameOverride": "for-cpus"}
    gpu = {"InstanceType": "ml.g6.xlarge", "Priority": 1}
    create(local_aws, container, "falls", pools=(cpu, gpu))
    assert settled(local_aws, "falls") == ("InService", "")
    (variant,) = local_aws.sagemaker.describe_endpoint(EndpointName="falls")["ProductionVariants"]
    assert [pool["CurrentInstanceCount"] for pool in variant["InstancePools"]] == [0, 1]
    assert variant["DeployedImages"][0]["SpecifiedImage"] == image
    assert invoke(local_aws, "falls", 200, {"result": 1}) == {"result": 1}
    state = find_endpoint(Aws(region=local_aws.region, endpoint_url=local_aws.endpoint_url), "falls")
    assert state is not None
    assert state.instance_types == ("ml.g6.xlarge", "ml.c6i.xlarge")
    assert state.fallback_image == image != state.image


@pytest.mark.parametrize(("status", "side"), [(400, "client"), (503, "server")])
def test_a_containers_error_is_a_model_error(
    local_aws: LocalAws, endpoint: str, status: int, side: str
) -> None:
    body = {"error": {"code": "overloaded", "message": "no room"}, "retryable": True}
    with pytest.raises(local_aws.sagemaker_runtime.exceptions.ModelError) as caught:
        invoke(local_aws, endpoint, status, body)
    response: Any = caught.value.response
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert response["OriginalStatusCode"] == status
    assert json.loads(response["OriginalMessage"]) == body
    assert response["LogStreamArn"].endswith(f"log-group:/aws/sagemaker/Endpoints/{endpoint}")
    assert f"Received {side} error ({status}) from primary" in response["Error"]["Message"]


def test_an_unknown_endpoint_is_a_validation_error(local_aws: LocalAws) -> None:
    with pytest.raises(local_aws.sagemaker_runtime.exceptions.ValidationError, match=r"nobody .* not found"):
        invoke(local_aws, "nobody", 200, {})
    with pytest.raises(ClientError, match="Could not find endpoint"):
        local_aws.sagemaker.describe_endpoint(EndpointName="nobody")


def test_the_containers_lines_are_in_its_log_group(local_aws: LocalAws, endpoint: str) -> None:
    group = f"/aws/sagemaker/Endpoints/{endpoint}"
    (stream,) = local_aws.logs.describe_log_streams(logGroupName=group)["logStreams"]
    assert stream["logStreamName"].startswith("primary/i-")
    assert "container: model files ['model.gguf']" in local_aws.log_lines(group, stream["logStreamName"])


def test_a_container_that_ends_fails_the_endpoint_with_its_last_error_line(
    local_aws: LocalAws, container: Path
) -> None:
    create(local_aws, container, "refusing", REFUSE="no such model")
    status, reason = settled(local_aws, "refusing")
    assert status == "Failed"
    assert reason == "the container ended with exit status 1: container: cannot start: no such model"
    with pytest.raises(local_aws.sagemaker_runtime.exceptions.ValidationError, match="Failed, not InService"):
        invoke(local_aws, "refusing", 200, {})
    local_aws.sagemaker.delete_endpoint(EndpointName="refusing")


def test_who_watches_the_endpoint_learns_why_its_container_did_not_start(
    local_aws: LocalAws, container: Path
) -> None:
    failed = threading.Event()
    seen: list[str] = []

    def look(found: EndpointLook) -> None:
        seen.append(found.status)
        if found.status == "Failed":
            failed.set()

    aws = Aws(region=local_aws.region, endpoint_url=local_aws.endpoint_url)
    with EndpointWatch(aws, "watched", poll_seconds=0.05, on_look=look) as watch:
        create(local_aws, container, "watched", REFUSE="no such model")
        assert failed.wait(300)
        reason, stream, *lines = watch.what_went_wrong()
    assert seen[0] == "not there yet"
    assert reason.endswith("the container ended with exit status 1: container: cannot start: no such model")
    assert stream.startswith("the last lines of the container primary/i-")
    # What it printed to standard output comes through a pipe of its own, before, between or after these.
    on_stderr = [line for line in lines if not line.startswith("  container: model files")]
    assert on_stderr == ["  trying", "  container: cannot start: no such model"]
    local_aws.sagemaker.delete_endpoint(EndpointName="watched")


def test_a_container_that_ends_later_fails_the_endpoint_too(local_aws: LocalAws, container: Path) -> None:
    create(local_aws, container, "ending")
    assert settled(local_aws, "ending") == ("InService", "")
    with pytest.raises(local_aws.sagemaker_runtime.exceptions.ModelError, match="no whole answer"):
        local_aws.sagemaker_runtime.invoke_endpoint(
            EndpointName="ending", Body=b'{"exit": true}', ContentType="application/json"
        )
    found = eventually(lambda: settled(local_aws, "ending"), lambda found: found != ("InService", ""))
    assert found[0] == "Failed"
    assert "exit status 3" in found[1]


def test_an_endpoint_that_is_not_ready_in_time_fails(local_aws: LocalAws, container: Path) -> None:
    create(local_aws, container, "never-ready", startup_seconds=60, NEVER_READY="1")
    described = local_aws.sagemaker.describe_endpoint(EndpointName="never-ready")
    assert described["EndpointStatus"] == "Creating"
    with pytest.raises(
        local_aws.sagemaker_runtime.exceptions.ValidationError, match="Creating, not InService"
    ):
        invoke(local_aws, "never-ready", 200, {})
    local_aws.sagemaker.delete_endpoint(EndpointName="never-ready")
    with pytest.raises(ClientError, match="Could not find endpoint"):
        local_aws.sagemaker.describe_endpoint(EndpointName="never-ready")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "could not fetch the model data from s3://"),
        (b"<html>not an archive</html>", "not a sound model.tar.gz"),
        (gzip.compress(b"no tar inside", mtime=0), "not a sound model.tar.gz"),
        (broken_archive(), "not a sound model.tar.gz"),
    ],
)
def test_a_wrong_archive_fails_the_endpoint_with_a_reason(
    local_aws: LocalAws, container: Path, content: bytes | None, reason: str
) -> None:
    if content is not None:
        local_aws.s3.put_object(Bucket=MODEL_BUCKET, Key="wrong/model.tar.gz", Body=content)
    name = f"wrong-{abs(hash(content))}"
    create(local_aws, container, name, archive="wrong/model.tar.gz")
    status, told = settled(local_aws, name)
    assert status == "Failed"
    assert reason in told


@pytest.mark.parametrize(
    ("name", "kind", "size", "reason"),
    [
        ("../../escaped", tarfile.REGTYPE, 0, "no file or folder inside it"),
        ("/tmp/escaped", tarfile.REGTYPE, 0, "no file or folder inside it"),
        ("link.gguf", tarfile.SYMTYPE, 0, "no file or folder inside it"),
        ("hard.gguf", tarfile.LNKTYPE, 0, "no file or folder inside it"),
        ("pipe.gguf", tarfile.FIFOTYPE, 0, "no file or folder inside it"),
        ("huge.gguf", tarfile.REGTYPE, 1 << 60, "more bytes than the disk has free"),
    ],
)
def test_an_archive_that_leaves_its_folder_is_refused(
    local_aws: LocalAws, container: Path, name: str, kind: bytes, size: int, reason: str
) -> None:
    archive = io.BytesIO()
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, "/etc/passwd", size
    with gzip.open(archive, "wb") as packed:
        packed.write(member.tobuf(tarfile.GNU_FORMAT) + bytes(2 * tarfile.BLOCKSIZE))
    endpoint = f"escaping-{name.strip('./').replace('/', '-').partition('.')[0]}"
    local_aws.s3.put_object(Bucket=MODEL_BUCKET, Key=f"{endpoint}/model.tar.gz", Body=archive.getvalue())
    create(local_aws, container, endpoint, archive=f"{endpoint}/model.tar.gz")
    status, told = settled(local_aws, endpoint)
    assert status == "Failed"
    assert "not a sound model.tar.gz" in told
    assert reason in told
    assert not list(local_aws.state.rglob("escaped"))


def test_an_update_serves_on_where_the_new_config_fails(local_aws: LocalAws, container: Path) -> None:
    create(local_aws, container, "before")
    create(local_aws, container, "broken", REFUSE="broken")
    assert settled(local_aws, "before") == ("InService", "")
    local_aws.sagemaker.update_endpoint(EndpointName="before", EndpointConfigName="broken")
    status, reason = settled(local_aws, "before")
    assert (status, "cannot start: broken" in reason) == ("InService", True)
    described = local_aws.sagemaker.describe_endpoint(EndpointName="before")
    assert described["EndpointConfigName"] == "before"
    assert invoke(local_aws, "before", 200, {"still": 1}) == {"still": 1}


def test_an_alarm_that_goes_off_while_the_new_fleet_is_watched_brings_the_old_one_back(
    local_aws: LocalAws, container: Path
) -> None:
    create(local_aws, container, "alarmed")
    create(local_aws, container, "worse")
    assert (settled(local_aws, "alarmed"), settled(local_aws, "worse")) == (("InService", ""),) * 2
    local_aws.cloudwatch.put_metric_alarm(
        AlarmName="alarmed-errors", ComparisonOperator="GreaterThanThreshold", EvaluationPeriods=1,
        MetricName="Errors", Namespace="N", Period=60, Statistic="Sum", Threshold=1,
    )  # fmt: skip
    local_aws.sagemaker.update_endpoint(
        EndpointName="alarmed",
        EndpointConfigName="worse",
        DeploymentConfig={"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "alarmed-errors"}]}},
    )

    def pending() -> dict[str, Any]:
        described = local_aws.sagemaker.describe_endpoint(EndpointName="alarmed")
        assert described["EndpointStatus"] == "Updating"
        (variant,) = described["PendingDeploymentSummary"]["ProductionVariants"]
        return dict(variant)

    baking = eventually(pending, lambda variant: variant["VariantStatus"] == [{"Status": "Baking"}])
    assert (baking["CurrentInstanceCount"], baking["DesiredInstanceCount"]) == (1, 1)
    local_aws.cloudwatch.set_alarm_state(AlarmName="alarmed-errors", StateValue="ALARM", StateReason="a test")
    status, reason = settled(local_aws, "alarmed")
    assert (status, reason.startswith("the alarm alarmed-errors went off")) == ("InService", True)
    local_aws.cloudwatch.delete_alarms(AlarmNames=["alarmed-errors"])
    described = local_aws.sagemaker.describe_endpoint(EndpointName="alarmed")
    assert described["EndpointConfigName"] == "alarmed"
    assert "PendingDeploymentSummary" not in described
    assert invoke(local_aws, "alarmed", 200, {"still": 1}) == {"still": 1}


def test_a_number_of_instances_is_told_as_it_was_asked_for_and_kept_by_an_update(
    local_aws: LocalAws, container: Path
) -> None:
    create(local_aws, container, "scaled")
    create(local_aws, container, "same-again")
    assert (settled(local_aws, "scaled"), settled(local_aws, "same-again")) == (("InService", ""),) * 2

    def scale(count: int, variant: str = "primary") -> None:
        wanted: Any = {"VariantName": variant, "DesiredInstanceCount": count}
        local_aws.sagemaker.update_endpoint_weights_and_capacities(
            EndpointName="scaled", DesiredWeightsAndCapacities=[wanted]
        )

    def count() -> int:
        described = local_aws.sagemaker.describe_endpoint(EndpointName="scaled")
        return described["ProductionVariants"][0]["CurrentInstanceCount"]

    scale(3)
    assert count() == 3
    for retain, expected in ((True, 3), (False, 1)):
        local_aws.sagemaker.update_endpoint(
            EndpointName="scaled", EndpointConfigName="same-again", RetainAllVariantProperties=retain
        )
        assert settled(local_aws, "scaled") == ("InService", "")
        assert count() == expected
    with pytest.raises(ClientError, match="has an instance at least"):
        scale(0)
    with pytest.raises(ClientError, match="Could not find variant 'other'"):
        scale(2, "other")


def test_an_update_to_other_types_is_refused_while_it_is_scaled(local_aws: LocalAws, container: Path) -> None:
    create(local_aws, container, "registered")
    create(local_aws, container, "same-types")
    create(local_aws, container, "other-types", pools=({"InstanceType": "ml.c6i.large", "Priority": 1},))
    names = ["registered", "same-types", "other-types"]
    assert {settled(local_aws, name) for name in names} == {("InService", "")}
    scaling = Aws(region=local_aws.region, endpoint_url=local_aws.endpoint_url).application_autoscaling
    place: Any = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": "endpoint/registered/variant/primary",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    }
    scaling.register_scalable_target(**place, MinCapacity=1, MaxCapacity=2)
    update = local_aws.sagemaker.update_endpoint
    with pytest.raises(ClientError, match="while it is a target of Application Auto Scaling") as caught:
        update(EndpointName="registered", EndpointConfigName="other-types")
    assert caught.value.response["Error"]["Code"] == "ValidationException"
    assert settled(local_aws, "registered") == ("InService", "")
    for name in ("same-types", "other-types"):
        update(EndpointName="registered", EndpointConfigName=name)
        assert settled(local_aws, "registered") == ("InService", "")
        described = local_aws.sagemaker.describe_endpoint(EndpointName="registered")
        assert described["EndpointConfigName"] == name
        if name == "same-types":
            scaling.deregister_scalable_target(**place)
    for name in names:
        local_aws.sagemaker.delete_endpoint(EndpointName=name)


@pytest.mark.parametrize(
    ("variant", "problem"),
    [
        ({"InstanceType": "ml.none.huge"}, "InstanceType"),
        ({}, "one of InstanceType, InstancePools, ServerlessConfig, got none"),
        (
            {
                "InstanceType": "ml.c6i.large",
                "InstancePools": [{"InstanceType": "ml.c6i.large", "Priority": 1}],
            },
            "got InstanceType and InstancePools",
        ),
        ({"InstancePools": [{"InstanceType": "ml.c6i.large", "Priority": 6}]}, "Priority"),
        ({"InstanceType": "ml.c6i.large", "ModelName": "nobody"}, "Could not find model"),
    ],
)
def test_an_impossible_endpoint_config_is_refused(
    local_aws: LocalAws, endpoint: str, variant: dict[str, object], problem: str
) -> None:
    request: Any = {"VariantName": "primary", "ModelName": endpoint, **variant}
    with pytest.raises(ClientError, match=problem) as caught:
        local_aws.sagemaker.create_endpoint_config(
            EndpointConfigName="impossible", ProductionVariants=[request]
        )
    assert caught.value.response["Error"]["Code"] == "ValidationException"
