"""Steps whose causes the local AWS lacks, on endpoints of it: the tests scale, publish and configure.

Each is judged both ways; what a step asks of AWS is asked over HTTP.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.models.tiny_models import write_tiny_gguf
from semif.models.sources.verify import file_sha256
from semif.project.root import PROJECT_VARIABLE
from semif.verify.step import Bench, SurpriseError
from semif.verify.steps import background_steps, change_steps, setting_steps
from semif_adapter.contract import figures
from tests.support.runs.calibrations import TEMPERATURE, calibration, write_calibration
from tests.support.servers.local_aws import REPOSITORY, LocalAws, put_tiny_model
from tests.support.servers.local_endpoints import settled

BUCKET = "verified"
SUBNETS = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
BARE = """\
kind = "decision"
removal = "destroy"
[model]
preset = "embedded"
"""
ONE_TYPE = '[endpoint]\ninstance_type = "ml.c6i.large"\n'
SPECIAL = f"""\
{BARE}format = "prefix"
[endpoint]
instance_pool = ["ml.c6i.large", "ml.c7i.large"]
[network]
vpc_id = "vpc-0123456789abcdef0"
subnet_ids = {SUBNETS}
security_group_ids = ["sg-0123456789abcdef0"]
"""
ENVIRONMENTS = {
    "plain": BARE + ONE_TYPE,
    "queued": BARE + ONE_TYPE + 'mode = "async"\n',
    "special": SPECIAL,
}


@pytest.fixture(scope="module")
def project(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose throw-away environments are there, and whose AWS is the shared one."""
    folder = tmp_path_factory.mktemp("project")
    for shared in ("models", "examples"):
        (folder / shared).symlink_to(REPOSITORY / shared)
    (folder / "environments").mkdir()
    for name, text in ENVIRONMENTS.items():
        (folder / "environments" / f"verify-{name}.toml").write_text(text)
    (folder / ".semif").mkdir()
    (folder / ".semif" / "local").symlink_to(local_aws.state)
    local_aws.s3.create_bucket(Bucket=BUCKET)
    put_tiny_model(local_aws, BUCKET, "models/model.tar.gz")
    return folder


def served(
    aws: LocalAws,
    name: str,
    *,
    config: Any = None,
    data: Any = None,
    model: Any = None,
    place: Any = None,
    **variables: str,
) -> Iterator[None]:
    """The endpoint of an environment: the adapter on a tiny model; the rest are parts of its records."""
    endpoint = f"semif-verify-{name}"
    container = {
        "Image": f"{aws.account}.dkr.ecr.{aws.region}.amazonaws.com/adapter@sha256:{'0' * 64}",
        "Environment": {"SEMIF_CONTEXT_TOKENS": "1024", "SEMIF_THREADS": "1", **variables},
        **(data or {"ModelDataUrl": f"s3://{BUCKET}/models/model.tar.gz"}),
    }
    role = f"arn:aws:iam::{aws.account}:role/hosting"
    made: Any = {"PrimaryContainer": container, **(model or {})}
    aws.sagemaker.create_model(ModelName=endpoint, ExecutionRoleArn=role, **made)
    variant: Any = {
        "VariantName": "AllTraffic",
        "ModelName": endpoint,
        "InitialInstanceCount": 1,
        **(place or {"InstanceType": "ml.c6i.large"}),
    }
    aws.sagemaker.create_endpoint_config(
        EndpointConfigName=endpoint, ProductionVariants=[variant], **(config or {})
    )
    aws.sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)
    assert settled(aws, endpoint) == ("InService", "")
    yield
    aws.sagemaker.delete_endpoint(EndpointName=endpoint)


@pytest.fixture(scope="module")
def plain(local_aws: LocalAws, project: Path) -> Iterator[None]:
    """An endpoint with nothing special."""
    assert project.exists()
    yield from served(local_aws, "plain")


@pytest.fixture
def bench(project: Path, monkeypatch: pytest.MonkeyPatch) -> "partial[Bench]":
    """Of an environment by its name; nothing is waited for but what is there."""
    monkeypatch.setenv(PROJECT_VARIABLE, str(project))
    for module, limit in (
        (change_steps, "_FIGURES_SECONDS"),
        (change_steps, "_SCALE_SECONDS"),
        (background_steps, "_ZERO_SECONDS"),
    ):
        monkeypatch.setattr(module, limit, 0.0)
    return partial(Bench, tables={}, local=True, profile=None, tolerance=0.02)


def scale_to(aws: LocalAws, name: str, count: int) -> None:
    """As Application Auto Scaling does."""
    aws.sagemaker.update_endpoint_weights_and_capacities(
        EndpointName=f"semif-verify-{name}",
        DesiredWeightsAndCapacities=[{"VariantName": "AllTraffic", "DesiredInstanceCount": count}],
    )


@pytest.mark.usefixtures("plain")
def test_a_second_instance_under_load_is_seen(local_aws: LocalAws, bench: "partial[Bench]") -> None:
    with pytest.raises(SurpriseError, match="a fleet of 2 did not come"):
        change_steps.scale(bench("plain"))
    scale_to(local_aws, "plain", 2)
    assert change_steps.scale(bench("plain")).startswith("2 instances after")
    scale_to(local_aws, "plain", 1)


def test_an_endpoint_of_no_instance_that_answers_again_is_seen(
    local_aws: LocalAws, bench: "partial[Bench]"
) -> None:
    output = {"S3OutputPath": f"s3://{BUCKET}/answers", "S3FailurePath": f"s3://{BUCKET}/failures"}
    for _ in served(local_aws, "queued", config={"AsyncInferenceConfig": {"OutputConfig": output}}):
        with pytest.raises(SurpriseError, match="an endpoint of no instance did not come"):
            background_steps.zero_and_back(bench("queued"))
        scale_to(local_aws, "queued", 0)
        said = background_steps.zero_and_back(bench("queued"))
        assert "then 6 requests of examples/requests.jsonl answered" in said


def metrics_of(name: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """What CloudWatch has of an endpoint: SageMaker's own figures, and the adapter's."""
    variant = {"EndpointName": name, "VariantName": "AllTraffic"}
    for metric in ("Invocations", "ModelLatency", "OverheadLatency"):
        yield "AWS/SageMaker", metric, variant
    yield "/aws/sagemaker/Endpoints", "CPUUtilization", variant
    for figure in (figures.REQUESTS_2XX, figures.DECISIONS, figures.ENGINE_READY):
        yield figures.NAMESPACE, figure.name, {figures.ENDPOINT_DIMENSION: name}


def publish(aws: LocalAws, namespace: str, metric: str, dimensions: dict[str, str]) -> None:
    """One value of a metric."""
    told = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    minute_ago = datetime.now(UTC) - timedelta(minutes=1)  # times are sent in whole seconds
    datum: Any = {"MetricName": metric, "Dimensions": told, "Timestamp": minute_ago, "Value": 1.0}
    aws.cloudwatch.put_metric_data(Namespace=namespace, MetricData=[datum])


@pytest.mark.usefixtures("plain")
def test_the_figures_that_alarms_and_scaling_use_are_looked_for(
    local_aws: LocalAws, bench: "partial[Bench]"
) -> None:
    *most, last = metrics_of("semif-verify-plain")
    for one in most:
        publish(local_aws, *one)
    with pytest.raises(SurpriseError, match=f"^CloudWatch has no {last[1]} of the endpoint$"):
        change_steps.read_figures(bench("plain"))
    publish(local_aws, *last)
    assert change_steps.read_figures(bench("plain")) == "7 figures have values"


@pytest.fixture(scope="module")
def special(local_aws: LocalAws, project: Path) -> Iterator[None]:
    """An endpoint on a pool, in subnets, with files under a prefix, and a calibration."""
    gguf = project / "tiny.gguf"
    write_tiny_gguf(gguf)
    local_aws.s3.put_object(Bucket=BUCKET, Key="files/tiny.gguf", Body=gguf.read_bytes())
    fitted = write_calibration(project / "calibration.json", calibration(file_sha256(gguf), "letters"))
    source = {"S3DataType": "S3Prefix", "CompressionType": "None", "S3Uri": f"s3://{BUCKET}/files/"}
    network = {"Subnets": SUBNETS, "SecurityGroupIds": ["sg-0123456789abcdef0"]}
    pools = [
        {"InstanceType": one, "Priority": number}
        for number, one in enumerate(("ml.c6i.large", "ml.c7i.large"), 1)
    ]
    yield from served(
        local_aws,
        "special",
        data={"ModelDataSource": {"S3DataSource": source}},
        model={"VpcConfig": network},
        place={"InstancePools": pools},
        SEMIF_CALIBRATION=str(fitted),
        SEMIF_READOUT="letters",
    )


@pytest.mark.usefixtures("plain", "special")
def test_what_only_some_environments_have_is_seen(bench: "partial[Bench]") -> None:
    here = bench("special")
    assert setting_steps.pool(here) == "InService on 1 of ml.c6i.large, ml.c7i.large"
    assert setting_steps.network(here) == "InService in 2 subnets, without a key"
    assert setting_steps.prefix(here) == "InService on files under a prefix"
    assert setting_steps.calibration(here) == f"temperature {TEMPERATURE:g}"
    assert setting_steps.hub(here).startswith("InService")


@pytest.mark.usefixtures("plain", "special")
def test_what_an_environment_should_have_and_has_not_is_a_surprise(
    bench: "partial[Bench]", project: Path
) -> None:
    for step, surprise in (
        (setting_steps.prefix, "the model's address is no prefix"),
        (setting_steps.calibration, "no calibration was applied"),
        (setting_steps.gpu, "0 layers are on a GPU"),
    ):
        with pytest.raises(SurpriseError, match=surprise):
            step(bench("plain"))
    other = SPECIAL.replace('"ml.c6i.large", "ml.c7i.large"', '"ml.c7i.large", "ml.c6i.large"')
    (project / "environments" / "verify-absent.toml").write_text(other)
    with pytest.raises(SurpriseError, match="there is no endpoint semif-verify-absent"):
        setting_steps.hub(bench("absent"))
    file = project / "environments" / "verify-special.toml"
    try:
        file.write_text(other.replace(SUBNETS[1], "subnet-0123456789abcdef2"))
        with pytest.raises(SurpriseError, match=r"the file has ml\.c7i\.large, ml\.c6i\.large"):
            setting_steps.pool(bench("special"))
        with pytest.raises(SurpriseError, match="2 subnets that are not those of the file"):
            setting_steps.network(bench("special"))
    finally:
        file.write_text(SPECIAL)
