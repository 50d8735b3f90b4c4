"""`semif image pin`, against a registry on this machine."""

import base64
import json
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from moto import mock_aws

from semif.aws.clients import Aws
from semif.cli import main
from semif.errors import SemifError
from semif.images.base_images import base_image, check_knows_head
from semif.images.pin_from_registry import VERSION_TAG, find_regional_pin
from semif.project.root import PROJECT_VARIABLE
from tests.support.sagemaker_sdk import IMAGE_URI_CONFIG
from tests.support.servers.oci_registry import CONFIG, DOCKER, IMAGE, INDEX, OciRegistry, digest_of
from tests.support.servers.running import running

OLD = f"sha256:{'a' * 64}"
TAG = "/v2/dlc/llama/manifests/v1"
FILE = f"""\
# the pins
[cpu]
repository = "registry.example/dlc/llama"  # public
tag = "v1"
digest = "{OLD}"  # found by hand
resolved_on = 2026-08-21
llama_cpp_build = "b10433"

# has CUDA
[cuda]
repository = "registry.example/dlc/llama"
tag = "v1"
digest = "{OLD}"
cuda_major = 12
[decider]
repository = "registry.example/dlc/llama"
tag = "v1"
# none yet
[graviton]
repository = "registry.example/dlc/llama"
tag = "v1"
"""
ATTESTATION = {
    "mediaType": IMAGE,
    "digest": f"sha256:{'b' * 64}",
    "size": 1,
    "platform": {"os": "unknown", "architecture": "unknown"},
    "annotations": {"vnd.docker.reference.type": "attestation-manifest"},
}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[OciRegistry]:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with running(OciRegistry()) as server:
        yield server


@pytest.fixture
def dlc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The dlc.toml of a project of its own."""
    for folder in ("models", "adapter_image"):
        (tmp_path / folder).mkdir()
    (tmp_path / "models" / "one.toml").touch()
    path = tmp_path / "adapter_image" / "dlc.toml"
    path.write_text(FILE)
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    return path


@pytest.fixture
def pin(registry: OciRegistry, dlc: Path) -> Callable[..., Result]:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["image", "pin", *arguments, "--registry", registry.url()])

    return run


def both(registry: OciRegistry, **config: Any) -> dict[str, dict[str, Any]]:
    """An index with an image for x86-64 and one for Arm, and an attestation beside them."""
    images = {name: registry.add_image(name, **config) for name in ("amd64", "arm64")}
    registry.add_index([ATTESTATION, *images.values()], "v1")
    return images


@pytest.mark.parametrize(("base", "architecture"), [("cpu", "amd64"), ("arm64", "arm64")])
def test_an_index_gives_the_digest_of_the_platforms_image(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path, base: str, architecture: str
) -> None:
    images = both(registry, created="2026-09-25T10:00:00Z")
    result = pin(base, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["digest"] == images[architecture]["digest"] != digest_of(registry.manifests["v1"][1])
    assert (found["platform"], found["created"]) == (f"linux/{architecture}", "2026-09-25T10:00:00Z")
    assert (found["moved"], found["written"]) == (True, True)
    accelerator = "graviton" if base == "arm64" else "cpu"
    assert base_image(accelerator, dlc).digest == found["digest"]  # type: ignore[arg-type]  # one of the two
    written = tomllib.loads(dlc.read_text())[accelerator]
    assert written["resolved_on"] == datetime.now(UTC).date()
    assert "llama_cpp_build" not in written, "the old build is not the new image's"


def test_an_image_without_an_index_and_what_it_says_of_itself(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path
) -> None:
    labels = {"com.example.llama-cpp.version": "v0.4.1 (b10964)", "maintainer": "b11111"}
    settings = {"Labels": labels, "Env": ["PATH=/bin", "CUDA_VERSION=13.0.1"]}
    registry.add_image(tag="v1", config=None, created=None)
    assert json.loads(pin("cuda", "--check", "--json").stdout)["cuda_major"] is None
    image = registry.add_image(tag="v2", config=settings)
    result = pin("cuda", "--tag", "v2")
    assert result.exit_code == 0, result.stderr
    assert image["digest"] in result.stdout
    written = tomllib.loads(dlc.read_text())["cuda"]
    assert (written["digest"], written["tag"]) == (image["digest"], "v2")
    assert (written["llama_cpp_build"], written["cuda_major"]) == ("b10964", 13)


def test_comments_order_and_other_entries_stay(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path
) -> None:
    digest = both(registry)["amd64"]["digest"]
    assert pin("cpu").exit_code == 0
    expected = FILE.replace(OLD, digest, 1).replace("2026-08-21", str(datetime.now(UTC).date()))
    assert dlc.read_text() == expected.replace('llama_cpp_build = "b10433"\n', "")
    once = dlc.read_text()
    again = pin("cpu")
    assert (again.exit_code, dlc.read_text()) == (0, once)
    assert "means what is pinned" in again.stdout


def test_check_writes_nothing_and_tells_by_its_status(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path
) -> None:
    both(registry)
    moved = pin("cpu", "--check")
    assert (moved.exit_code, dlc.read_text()) == (1, FILE)
    assert "the tag has moved" in moved.stdout
    assert json.loads(pin("cpu", "--check", "--json").stdout)["moved"] is True
    pin("cpu")
    held = pin("cpu", "--check", "--json")
    assert (held.exit_code, json.loads(held.stdout)["written"]) == (0, False)


def test_the_token_goes_to_the_registry_alone(registry: OciRegistry, pin: Callable[..., Result]) -> None:
    both(registry)
    assert pin("cpu").exit_code == 0
    elsewhere = [sent for host, _, sent in registry.seen if host == "localhost"]
    assert elsewhere == [None], "one blob from the other host, without the token"
    tokens = [path for _, path, _ in registry.seen if path.startswith("/token")]
    assert tokens == ["/token?service=here&scope=repository%3Adlc%2Fllama%3Apull"]


def breaking(registry: OciRegistry, name: str) -> None:
    """Make the registry wrong in one way, after `both`."""
    kind, index = registry.manifests["v1"]
    amd64 = json.loads(index)["manifests"][1]
    image = TAG.replace("v1", amd64["digest"])
    config = json.loads(registry.manifests[amd64["digest"]][1])["config"]["digest"]
    if name == "no platform":
        registry.add_index([ATTESTATION, json.loads(index)["manifests"][2]], "v1")
    elif name == "two images":
        registry.add_index([amd64, registry.add_image(created="later")], "v1")
    elif name == "attestations only":
        registry.add_index([ATTESTATION], "v1")
    elif name == "index in an index":
        registry.add_index([{**amd64, "digest": digest_of(index), "mediaType": IMAGE}], "v1")
    elif name == "schema 1":
        registry.manifests["v1"] = (f"{DOCKER}.v1+prettyjws", b"{}")
    elif name == "a page":
        registry.answers[TAG] = (200, {"Content-Type": "text/html"}, b"<!DOCTYPE html>")
    elif name == "a page called an index":
        registry.answers[TAG] = (200, {"Content-Type": INDEX}, b"<!DOCTYPE html>")
    elif name == "no image configuration":
        artifact = {"mediaType": IMAGE, "config": {"mediaType": "a/b", "digest": OLD, "size": 2}}
        registry.add_manifest(artifact, "v1")
    elif name == "wrong architecture":
        registry.add_image("arm64", tag="v1")
    elif name == "other manifest":
        registry.answers[image] = (200, {"Content-Type": IMAGE}, b"{}")
    elif name == "other tag body":
        headers = {"Content-Type": kind, "Docker-Content-Digest": OLD}
        registry.answers[TAG] = (200, headers, index)
    elif name == "other blob":
        registry.answers[f"/store/{config}"] = (200, {}, b'{"os": "linux", "architecture": "amd64"}')
    elif name == "too long":
        registry.answers[f"/store/{config}"] = (200, {}, b" " * ((4 << 20) + 1))
    elif name == "redirected tag":
        location = registry.url("localhost") + TAG
        registry.answers[TAG] = (307, {"Location": location}, b"")
    elif name == "endless redirects":
        blob = f"/v2/dlc/llama/blobs/{config}"
        registry.answers[blob] = (307, {"Location": registry.url() + blob}, b"")
    elif name == "no token":
        registry.token = {"token": None}
    elif name == "a token with a line break":
        registry.token = {"token": "a\r\nX-Other: b"}
    elif name == "token over plain http":
        challenge = {"WWW-Authenticate": 'Bearer realm="http://tokens.example/token"'}
        registry.answers[TAG] = (401, challenge, b"")
    elif name == "unknown sign-in":
        registry.answers[TAG] = (401, {"WWW-Authenticate": 'Negotiate realm="here"'}, b"")
    else:
        registry.answers[TAG] = (int(name), {}, b"")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no platform", "has no image for linux/amd64, it has linux/arm64"),
        ("two images", "has 2 images for linux/amd64"),
        ("attestations only", "it has no image at all"),
        ("index in an index", f"is of the media type '{INDEX}', allowed are {IMAGE}"),
        ("schema 1", "is of the media type 'application/vnd.docker.distribution.manifest.v1+prettyjws'"),
        ("a page", "is of the media type 'text/html'"),
        ("a page called an index", "gives something that is no index"),
        ("no image configuration", f"is of the media type 'a/b', allowed are {CONFIG}"),
        ("wrong architecture", "is an image for linux/arm64, wanted is linux/amd64"),
        ("other manifest", "gives bytes with the digest sha256:"),
        ("other tag body", f"named was '{OLD}'"),
        ("other blob", "gives bytes with the digest sha256:"),
        ("too long", "gives more than 4,194,304 bytes"),
        ("redirected tag", "is redirected to another place"),
        ("endless redirects", "too many redirects"),
        ("no token", "gives no token"),
        ("a token with a line break", "gives no token"),
        ("token over plain http", "must be https://HOST"),
        ("unknown sign-in", "asks for a sign-in that is not known here, 'Negotiate'"),
        ("403", "is refused with HTTP 403"),
        ("404", "does not exist; correct the repository or the tag"),
        ("429", "too many requests"),
        ("500", "gives HTTP 500"),
    ],
)
def test_what_cannot_be_pinned_is_one_line_and_changes_nothing(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path, name: str, told: str
) -> None:
    both(registry)
    breaking(registry, name)
    result = pin("cpu")
    assert (result.exit_code, result.stdout, dlc.read_text()) == (1, "", FILE)
    assert result.stderr.startswith("semif: ")
    assert result.stderr.count("\n") == 1
    assert told in result.stderr
    assert "anonymous-token" not in result.stderr


def test_nobody_answers(dlc: Path) -> None:
    result = CliRunner().invoke(main, ["image", "pin", "cpu", "--registry", "http://127.0.0.1:9"])
    assert result.exit_code == 1
    assert "cannot be reached" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["cpu", "--registry", "http://registry.example"], "the registry must be https://HOST"),
        (["cpu", "--registry", "https://user:secret@registry.example"], "without a password"),
        (["cpu", "--registry", "https://a", "--region", "eu-central-1"], "leave --registry out"),
        (["cpu", "--tag", f"v1@{OLD}"], "is no tag; allowed are"),
        (["cpu", "--tag", "../v1"], "'../v1' is no tag"),
        (["cpu", "--profile", "p"], "--profile goes with --region"),
        (["graviton"], "'graviton' is not one of 'cpu', 'cuda', 'arm64'"),
    ],
)
def test_wrong_arguments(dlc: Path, arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["image", "pin", *arguments])
    assert result.exit_code in (1, 2)
    assert told in result.stderr
    assert "secret" not in result.stderr


def test_a_file_that_is_not_simple_is_left_alone(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path
) -> None:
    both(registry)
    text = FILE.replace(f'digest = "{OLD}"  # found by hand', f'"digest" = "{OLD}"')
    dlc.write_text(text)
    result = pin("cpu")
    assert (result.exit_code, dlc.read_text()) == (1, text)
    assert "[cpu] is not written as simply as this command can edit; set there tag" in result.stderr


def test_a_regions_registry_is_asked_with_the_callers_authorisation(
    dlc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("http_proxy", raising=False)
    # As AWS publishes it: a region's registry has it under the last part of its name.
    dlc.write_text(
        FILE.replace("registry.example/dlc/llama", "public.ecr.aws/deep-learning-containers/llama-cpp")
    )
    with mock_aws(), running(OciRegistry()) as registry:
        aws = Aws(region="eu-central-1")
        (granted,) = aws.ecr.get_authorization_token()["authorizationData"]
        assert base64.b64decode(granted["authorizationToken"]).startswith(b"AWS:")
        registry.basic = granted["authorizationToken"]
        both(registry)
        for path in ("v1", *[name for name in registry.manifests if name.startswith("sha256:")]):
            kind, body = registry.manifests[path]
            headers = {"Content-Type": kind}
            registry.answers[f"/v2/llama-cpp/manifests/{path}"] = (200, headers, body)
        for digest, blob in registry.blobs.items():
            registry.answers[f"/v2/llama-cpp/blobs/{digest}"] = (200, {}, blob)
        found = find_regional_pin(dlc, "cpu", aws, registry_url=registry.url())
        assert found.repository == "763104351884.dkr.ecr.eu-central-1.amazonaws.com/llama-cpp"
        assert {sent for _, _, sent in registry.seen} == {f"Basic {registry.basic}"}
        registry.answers["/v2/llama-cpp/manifests/v1"] = (401, {"WWW-Authenticate": 'Bearer realm="x"'}, b"")
        with pytest.raises(SemifError, match="refused with HTTP 401; these credentials may not read it"):
            find_regional_pin(dlc, "cpu", aws, registry_url=registry.url())
    assert base_image("cpu", dlc).digest == OLD


def full_versions(registry: OciRegistry, dlc: Path) -> dict[str, str]:
    """The tags that AWS publishes, floating and full, each another image; and a pin on the floating one."""
    dlc.write_text(FILE.replace('tag = "v1"', 'tag = "server-sagemaker-cpu-v1"'))
    names = ["cpu-v1", "cpu-v1.0", "cpu-v1.0.0", "cpu-v1.0.1", "cpu-v1.0.10", "cpu-v2.0.0", "cuda-v1.0.11"]
    tags = [f"server-sagemaker-{name}" for name in names]
    return {tag: str(registry.add_image(tag=tag, created=tag)["digest"]) for tag in tags}


@pytest.mark.parametrize("tags_a_page", [1, 2, 100])
def test_the_newest_full_version_of_the_major_one_is_pinned(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path, tags_a_page: int
) -> None:
    digests = full_versions(registry, dlc)
    registry.tags_a_page = tags_a_page
    result = pin("cpu")
    assert result.exit_code == 0, result.stderr
    full = [f"server-sagemaker-cpu-v1.0.{number}" for number in (10, 1, 0)]
    assert f"versions: {', '.join(full)}\n" in result.stdout
    written = tomllib.loads(dlc.read_text())["cpu"]
    assert (written["tag"], written["digest"]) == (full[0], digests[full[0]])
    assert pin("cpu", "--check").exit_code == 0

    registry.add_image(tag="server-sagemaker-cpu-v1.1.0", created="later")
    later = pin("cpu", "--check", "--json")
    assert later.exit_code == 1, "a full version does not move: a newer one does"
    assert json.loads(later.stdout)["tag"] == "server-sagemaker-cpu-v1.1.0"
    assert json.loads(pin("cpu", "--check", "--json", "--tag", full[1]).stdout)["tag"] == full[1]


def test_a_registry_that_lists_no_tags_is_asked_for_the_pinned_one(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path
) -> None:
    digests = full_versions(registry, dlc)
    found = json.loads(pin("cpu", "--json").stdout)
    assert (found["tag"], found["versions"]) == ("server-sagemaker-cpu-v1", [])
    assert found["digest"] == digests["server-sagemaker-cpu-v1"]


@pytest.mark.parametrize(
    ("labels", "build"),
    [
        ({"llama-cpp.version": "v0.4.1"}, "v0.4.1"),
        ({"llama-cpp.version": "v0.4.1 (b10964)"}, "b10964"),
        ({"org.opencontainers.image.version": "v1.0.1"}, None),
    ],
)
def test_a_release_of_llama_cpp_is_recorded_as_a_build_is(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path, labels: dict[str, str], build: str | None
) -> None:
    registry.add_image(tag="v1", config={"Labels": labels})
    assert pin("cpu").exit_code == 0
    assert tomllib.loads(dlc.read_text())["cpu"].get("llama_cpp_build") == build
    assert base_image("cpu", dlc).digest.startswith("sha256:")


def labelled(registry: OciRegistry, version: str, llama_cpp: str) -> str:
    """An image of a full version that says which llama.cpp it has; its digest."""
    labels = {"llama-cpp.version": llama_cpp}
    image = registry.add_image(tag=f"server-sagemaker-cpu-v{version}", config={"Labels": labels})
    return str(image["digest"])


def test_a_container_with_decision_heads_is_preferred_or_missed(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path
) -> None:
    full_versions(registry, dlc)
    registry.tags_a_page = 100
    before = dlc.read_text()
    labelled(registry, "1.0.10", "v0.4.1")

    missed = pin("cpu", "--heads")
    assert (missed.exit_code, dlc.read_text()) == (1, before)
    assert "none is published in" in missed.stderr
    assert "the newest (server-sagemaker-cpu-v2.0.0) names no build" in missed.stderr
    plain = pin("cpu", "--check")
    assert "not known to have decision heads" in plain.stdout
    assert "`semif image pin cpu --heads`" in plain.stdout

    older, newer = labelled(registry, "1.0.11", "v0.6.0"), labelled(registry, "2.0.1", "b11400")
    labelled(registry, "2.1.0", "b11360")
    found = json.loads(pin("cpu", "--heads", "--json").stdout)
    assert (found["digest"], found["knows_heads"]) == (newer, True)
    assert json.loads(pin("cpu", "--tag", "server-sagemaker-cpu-v1.0.11", "--json").stdout)["digest"] == older
    assert tomllib.loads(dlc.read_text())["cpu"]["llama_cpp_build"] == "v0.6.0"
    check_knows_head("cpu", "kev", dlc)
    assert pin("cpu", "--heads", "--tag", "v1").exit_code == 2


@pytest.mark.parametrize(("name", "device"), [("llama-cpp", "cpu"), ("llama-cpp-arm64", "cpu")])
def test_full_versions_are_what_the_sagemaker_sdk_lists(name: str, device: str) -> None:
    listed = json.loads((IMAGE_URI_CONFIG / f"{name}.json").read_text())["versions"]
    tags = {f"{entry['tag_prefix']}-{entry['container_version'][device]}" for entry in listed.values()}
    assert tags >= {f"server-sagemaker-{device}-v{version}" for version in ("1", "1.0", "1.0.0", "1.0.1")}
    assert all(VERSION_TAG.fullmatch(tag) for tag in tags)


def test_the_container_for_strands_decider_is_pinned_without_a_word_of_llama_cpp(
    registry: OciRegistry, pin: Callable[..., Result], dlc: Path
) -> None:
    images = both(registry, config={"Labels": {"version": "b10964"}, "Env": ["CUDA_VERSION=12.9.1"]})
    result = pin("decider")
    assert result.exit_code == 0, result.stderr
    assert "llama.cpp" not in result.stdout
    written = tomllib.loads(dlc.read_text())["decider"]
    assert written["digest"] == images["amd64"]["digest"]
    assert written["cuda_major"] == 12
    assert "llama_cpp_build" not in written
    assert base_image("decider", dlc).digest == written["digest"]
    assert pin("decider", "--heads").exit_code == 2
