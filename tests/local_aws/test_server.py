"""`python -m local_aws` as a process: how it starts, whom it answers, and that nothing is left of it."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlparse

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.support.machine.waiting import eventually
from tests.support.servers.local_aws import LocalAws, put_container, start_local_aws
from tests.support.servers.local_endpoints import create, settled

SECONDS = 60


def descendants(pid: int) -> set[int]:
    """The processes below `pid` that are alive, from /proc."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        if (fields := _fields(status)) and fields[0] != "Z":
            parents[int(status.parent.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def wait_until_gone(pid: int) -> None:
    """Return when there is no such process, or nobody has yet asked how it ended."""
    eventually(lambda: _fields(Path(f"/proc/{pid}/stat")), lambda fields: not fields or fields[0] == "Z")


def _fields(status: Path) -> list[str]:
    """State, parent and more of a process; nothing once it is gone."""
    try:
        return status.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def run_to_its_end(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A local AWS that refuses to start."""
    command = [sys.executable, "-m", "local_aws", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def start_endless_build(aws: LocalAws) -> None:
    """Return when the build's command runs: a shell and its `sleep`."""
    buildspec = "version: 0.2\nphases:\n  build:\n    commands:\n      - sleep 600\n"
    aws.codebuild.create_project(
        name="endless",
        source={"type": "NO_SOURCE", "buildspec": buildspec},
        artifacts={"type": "NO_ARTIFACTS"},
        environment={"type": "LINUX_CONTAINER", "image": "none", "computeType": "BUILD_GENERAL1_SMALL"},
        serviceRole=f"arn:aws:iam::{aws.account}:role/endless",
    )
    aws.codebuild.start_build(projectName="endless")
    eventually(lambda: descendants(aws.process.pid), lambda found: len(found) >= 3)


def test_it_tells_where_it_is(local_aws: LocalAws) -> None:
    told = json.loads((local_aws.state / "server.json").read_text())
    assert told == {
        "pid": local_aws.process.pid,
        "endpoint_url": local_aws.endpoint_url,
        "account": "000000000000",
        "region": "us-east-1",
    }
    assert urlparse(local_aws.endpoint_url).hostname == "127.0.0.1"


def test_a_second_one_on_the_same_state_is_refused(local_aws: LocalAws) -> None:
    second = run_to_its_end("--state", str(local_aws.state))
    assert second.returncode == 1
    assert "another local AWS runs with the state folder" in second.stderr
    assert "Traceback" not in second.stderr
    assert (local_aws.state / "server.json").exists()


def test_a_taken_port_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = run_to_its_end("--state", str(tmp_path), "--port", str(port))
    assert refused.returncode == 1
    assert f"port {port}" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_another_moto_is_refused() -> None:
    code = "import importlib.metadata as m; m.version = lambda _: '5.2.4'; import local_aws.moto_patches"
    refused = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert refused.returncode == 1
    assert "the local AWS patches moto 5.2.5 and no other, found 5.2.4" in refused.stderr


@pytest.mark.parametrize(
    "header", [{"Origin": "https://example.com"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "example.com"}]
)
def test_a_web_page_gets_no_answer(local_aws: LocalAws, header: dict[str, str]) -> None:
    request = urllib.request.Request(f"{local_aws.endpoint_url}/moto-api/", headers=header)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    with caught.value:
        assert caught.value.code == 403


def test_another_region_is_refused(local_aws: LocalAws) -> None:
    elsewhere = boto3.client(
        "sagemaker",
        region_name="eu-west-1",
        endpoint_url=local_aws.endpoint_url,
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    with pytest.raises(ClientError, match="is the region us-east-1, the request is for eu-west-1"):
        elsewhere.list_endpoints()


def test_it_ends_when_its_folder_is_removed_and_leaves_a_successor_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = start_local_aws(state)
    with first.process:
        shutil.rmtree(state)
        second = start_local_aws(state)
        with second.process:
            assert first.process.wait(timeout=SECONDS) == 0
            told = json.loads((state / "server.json").read_text())
            assert told["pid"] == second.process.pid
            assert second.process.stdin is not None
            second.process.stdin.close()
            assert second.process.wait(timeout=SECONDS) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL", "end of input"])
def test_nothing_is_left_running(tmp_path: Path, end: str) -> None:
    state = tmp_path / "state"
    aws = start_local_aws(state)
    with aws.process:
        create(aws, put_container(aws, tmp_path), "left")
        assert settled(aws, "left") == ("InService", "")
        if end != "SIGKILL":  # which ends the build's shell, but not its command
            start_endless_build(aws)
        below = descendants(aws.process.pid)
        assert len(below) == (1 if end == "SIGKILL" else 3)
        if end == "end of input":
            assert aws.process.stdin is not None
            aws.process.stdin.close()
        else:
            aws.process.send_signal(signal.Signals[end])
        assert aws.process.wait(timeout=SECONDS) == (-signal.SIGKILL if end == "SIGKILL" else 0)
    for pid in below:
        wait_until_gone(pid)
    if end == "SIGKILL":  # what it could not remove, the next one does
        start_local_aws(state).process.communicate(timeout=SECONDS)
    assert {path.name for path in state.iterdir()} == {"server.lock"}


def test_the_registries_of_aws_have_the_published_containers_and_no_others(local_aws: LocalAws) -> None:
    where = {"registryId": "763104351884", "repositoryName": "llama-cpp"}
    pinned = tomllib.loads((Path(__file__).parents[2] / "adapter_image" / "dlc.toml").read_text())
    digest, other = pinned["cpu"]["digest"], f"sha256:{'0' * 64}"
    reply = local_aws.ecr.batch_get_image(**where, imageIds=[{"imageDigest": digest}, {"imageDigest": other}])
    assert [image["imageId"] for image in reply["images"]] == [{"imageDigest": digest}]
    assert [failure["failureCode"] for failure in reply["failures"]] == ["ImageNotFound"]
    for registry in (where | {"repositoryName": "none"}, {"repositoryName": "llama-cpp"}):
        with pytest.raises(ClientError, match="RepositoryNotFoundException"):
            local_aws.ecr.batch_get_image(**registry, imageIds=[{"imageDigest": digest}])
