"""A model that the container downloads from Hugging Face: nothing is built, and the network is asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template
from click.testing import CliRunner

from cdk_app.app import compose
from semif.aws.clients import Aws
from semif.builds.environment_builds import build_environment
from semif.cli import main
from semif.environment.environment import Environment
from semif.errors import ProblemsError, SemifError
from semif.images.image_ref import ImageRef
from semif.lock.lock_file import Lock, read_lock
from semif.project.root import PROJECT_VARIABLE, project_root
from semif.target.target import Target
from semif_constructs.hosting.served_model import ServedModel

Templates = dict[str, Any]
Synth = Callable[[Environment, Lock | None], Templates]
EnvironmentOf = Callable[..., Environment]
ExampleLock = Callable[[Environment], Lock]

REVISION = "4168f45a16a1290d65a4ec0fa312ae917a4c15d6"
HUB = f'hf_repo = "owner/Model-GGUF"\nhf_file = "quantized/model-Q4.gguf"\nrevision = "{REVISION}"'
URL = f"https://huggingface.co/owner/Model-GGUF/resolve/{REVISION}/quantized/model-Q4.gguf"
OPEN = "network_isolation = false\nstartup_timeout_seconds = 900"
FILE = """
kind = "{kind}"
removal = "destroy"
[model]
{model}
[endpoint]
instance_type = "ml.c6i.2xlarge"
{endpoint}
"""


@pytest.fixture
def environment(environment_of: EnvironmentOf) -> Environment:
    return environment_of(FILE.format(kind="text", model=HUB, endpoint=OPEN), name="hub")


def test_the_container_downloads_one_commits_file_and_has_a_network(
    synth: Synth, environment: Environment, example_lock: ExampleLock
) -> None:
    templates = synth(environment, example_lock(environment))
    assert set(templates) == {"Endpoint"}
    template = Template.from_json(templates["Endpoint"])
    (model,) = template.find_resources("AWS::SageMaker::Model").values()
    container = model["Properties"]["PrimaryContainer"]
    assert model["Properties"]["EnableNetworkIsolation"] is False
    assert container["Environment"]["SM_LLAMA_CPP_MODEL_URL"] == URL
    assert not {"ModelDataUrl", "ModelDataSource"} & set(container)
    for kind in ("AWS::ECR::Repository", "AWS::CodeBuild::Project", "AWS::S3::Bucket"):
        template.resource_count_is(kind, 0)
    assert "s3:" not in str(templates["Endpoint"])
    assert "logs:CreateLogGroup" in str(templates["Endpoint"]), "no Artifacts stack holds the group"


NETWORK = """[network]
vpc_id = "vpc-0123456789abcdef0"
subnet_ids = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
"""


def test_in_a_vpc_it_reaches_the_hub(
    synth: Synth, environment_of: EnvironmentOf, example_lock: ExampleLock
) -> None:
    text = FILE.format(kind="text", model=HUB, endpoint=OPEN) + NETWORK
    environment = environment_of(text, name="hub")
    template = Template.from_json(synth(environment, example_lock(environment))["Endpoint"])
    (group,) = template.find_resources("AWS::EC2::SecurityGroup").values()
    (egress,) = group["Properties"]["SecurityGroupEgress"]
    assert (egress["CidrIp"], egress["FromPort"], egress["ToPort"]) == ("0.0.0.0/0", 443, 443)
    with pytest.raises(ProblemsError, match=r"s3_prefix_list_id does not go with model\.hf_repo"):
        environment_of(text + 's3_prefix_list_id = "pl-6ea54007"')


@pytest.mark.parametrize(
    ("kind", "model", "endpoint", "problem"),
    [
        ("text", HUB, "startup_timeout_seconds = 900", "model.hf_repo needs the network, and the container"),
        ("text", HUB, "network_isolation = false", "endpoint.startup_timeout_seconds is missing: the downl"),
        ("decision", HUB, OPEN, "model.hf_repo goes with kind = 'text' only"),
        ("text", HUB + '\npreset = "embedded"', OPEN, "model.preset does not go with hf_repo"),
        ("text", HUB + '\nformat = "prefix"', OPEN, "model.format does not go with hf_repo"),
        ("text", 'hf_repo = "owner/name"', OPEN, "model: hf_file and revision missing"),
        ("text", HUB.replace(REVISION, "main"), OPEN, "'main' must be the 40 hexadecimal digits of a commit"),
        (
            "text",
            HUB.replace("owner/", "owner/x/"),
            OPEN,
            "must be a repository of huggingface.co, OWNER/NAME",
        ),
        ("text", HUB.replace("quantized/", "../"), OPEN, "must be the path of a .gguf in the repository"),
        ("text", HUB.replace("Q4.", "00002-of-00003."), OPEN, "is one of 3 files of a split model"),
        ("text", "", "", "model.preset is missing; name a file of models/, or hf_repo, hf_file and revision"),
        ("text", 'preset = "embedded"', "network_isolation = false", "a model of models/ needs no network"),
    ],
)
def test_what_is_refused(
    environment_of: EnvironmentOf, kind: str, model: str, endpoint: str, problem: str
) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(FILE.format(kind=kind, model=model, endpoint=endpoint))
    (found,) = caught.value.problems
    assert problem in found


def test_its_build_asks_nobody_and_locks_the_commit(environment: Environment, tmp_path: Path) -> None:
    nobody = Aws(region="eu-central-1", endpoint_url="http://127.0.0.1:9")
    lock_path = tmp_path / "hub.lock.json"
    target = Target(
        project_root(), environment, nobody, "111122223333", lock_path, local=False, poll_seconds=0
    )
    lock = build_environment(target)
    assert target.read_lock() == read_lock(lock_path) == lock
    assert lock.model.address == URL

    moved = environment.model.model_copy(update={"revision": "0" * 40})
    changed = environment.model_copy(update={"model": moved})
    other = Target(project_root(), changed, nobody, "111122223333", lock_path, local=False, poll_seconds=0)
    with pytest.raises(
        ProblemsError, match=rf"model\.revision is '{REVISION}', the environment hub says '0000"
    ):
        other.read_lock()


def test_what_makes_no_sense_for_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("environments", "models"):
        (tmp_path / folder).mkdir()
    (tmp_path / "models" / "embedded.toml").write_text((project_root() / "models/embedded.toml").read_text())
    text = FILE.format(kind="text", model=HUB, endpoint=OPEN)
    (tmp_path / "environments" / "hub.toml").write_text(text)
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    app = App(context={"env": "hub", "stage": "artifacts"}, outdir=str(tmp_path / "cdk.out"))
    with pytest.raises(SemifError, match="hub builds nothing, so it has no artifacts"):
        compose(app)
    result = CliRunner().invoke(main, ["deploy", "hub", "--local"])
    assert result.exit_code == 1
    assert "which the AWS on this machine does not do" in " ".join(result.stderr.split())
    shown = CliRunner().invoke(main, ["env", "show", "hub"])
    assert "downloaded by the container; size and SHA-256 are not checked" in shown.stdout


@pytest.mark.parametrize(
    "given",
    [{}, {"model_key": "k"}, {"bucket": "models"}, {"bucket": "models", "model_key": "k", "isolated": False}],
)
def test_the_construct_takes_data_or_a_network(stack: Stack, given: dict[str, Any]) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", given["bucket"]) if "bucket" in given else None
    image = ImageRef.parse(f"111122223333.dkr.ecr.eu-central-1.amazonaws.com/x@sha256:{'b' * 64}")
    with pytest.raises(SemifError, match="a container has either model data"):
        ServedModel(
            stack,
            "Model",
            environment={},
            image=image,
            model_bucket=bucket,
            model_key=given.get("model_key"),
            network_isolation=given.get("isolated", True),
        )
