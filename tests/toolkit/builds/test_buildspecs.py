"""The buildspecs' own commands under dash and bash, with stand-ins for the programs that they call."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from ast import literal_eval
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

SHELLS = {"dash": [shutil.which("dash") or "sh"], "bash": ["bash", "--posix"]}
"""What `sh` is on Debian and on Amazon Linux."""
ROOT = Path(__file__).resolve().parents[3]
SOURCE = "a" * 64
BASE_DIGEST = "1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43"
BASE = f"public.ecr.aws/deep-learning-containers/llama-cpp@sha256:{BASE_DIGEST}"
REGISTRY = "111122223333.dkr.ecr.eu-central-1.amazonaws.com"
REPOSITORY = f"{REGISTRY}/semif-dev"
TAG = f"{SOURCE}-{BASE_DIGEST[:32]}"
DIGEST = f"sha256:{'d' * 64}"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"

# Each call is written down with its standard input and answered from ANSWERS: by the first entry all of whose
# words are in the command. The call with the number FAIL_AT fails. There are some hundred of them: json would
# double what each takes, so what is written and read are Python's literals.
STAND_IN = """#!{python} -SE
import os, sys
program = os.path.basename(sys.argv[0])
stdin = "" if sys.stdin.isatty() else sys.stdin.read()
log = os.environ["CALLS"]
calls = open(log).read().splitlines() if os.path.exists(log) else []
with open(log, "a") as file:
    file.write(repr({{"program": program, "arguments": sys.argv[1:], "stdin": stdin}}) + "\\n")
if len(calls) == int(os.environ["FAIL_AT"]):
    sys.exit(7)
command = " ".join([program, *sys.argv[1:]])
for words, answer in eval(os.environ["ANSWERS"]).items():
    if all(word in command for word in words.split()):
        print(answer)
        break
"""
# Counted and failed like a stand-in, and else the real one.
COUNTED = """#!/bin/sh
PATH=${{PATH#*:}} program=${{0##*/}}
count=$(grep -c . "$CALLS" 2>/dev/null)
printf '{{"program": "%s", "arguments": []}}\\n' "$program" >>"$CALLS"
[ "${{count:-0}}" != "$FAIL_AT" ] || exit 7
exec "{real}" "$@"
"""

IMAGE_ANSWERS = {
    "batch-get-image imageId": "None",
    "aws ecr-public get-login-password": "public-secret",
    "aws ecr get-login-password": "own-secret",
    "describe-images imageDigest": DIGEST,
    "describe-images imageManifestMediaType": DOCKER_MANIFEST,
    "batch-get-image images[0].imageManifest": json.dumps({"config": {"digest": f"sha256:{'e' * 64}"}}),
    "s3api list-objects-v2": "None",
    "docker run": "what the image holds",
}
RECORDS = ("sbom.cdx.json", "licences.txt")
RECORDS_STORED = {f"s3api list-objects-v2 {name}": f"images/{'d' * 64}/{name}" for name in RECORDS}
"""What S3 answers once they are there."""
MODEL_RESULT = {
    "preset": "embedded",
    "manifest_sha256": "b" * 64,
    "archive_sha256": "c" * 64,
    "archive_bytes": 1,
    "s3_uri": f"s3://bucket/models/{'b' * 64}/model.tar.gz",
    "format": "tar.gz",
}


@dataclass(frozen=True)
class Outcome:
    """How a build went: whether it passed, what it exported, what it called and what it said."""

    passed: bool
    exported: dict[str, str]
    calls: list[dict[str, Any]]
    output: str

    def commands(self, program: str) -> list[str]:
        return [" ".join(call["arguments"]) for call in self.calls if call["program"] == program]


class CodeBuild:
    """Runs a buildspec's commands in one shell, phase after phase, stopping at the first failure."""

    def __init__(self, folder: Path, shell: list[str]) -> None:
        self._folder = folder
        self._shell = shell
        self._programs = folder / "programs"
        self._programs.mkdir()
        self.source = folder / "source"
        self.source.mkdir()

    def provide(self, *names: str, folder: Path | None = None) -> None:
        for name in names:
            program = (folder or self._programs) / name
            program.write_text(STAND_IN.format(python=sys.executable))
            program.chmod(0o755)

    def count(self, *names: str) -> None:
        """Let calls of these real programs fail too."""
        for name in names:
            program = self._programs / name
            program.write_text(COUNTED.format(real=shutil.which(name)))
            program.chmod(0o755)

    def run(
        self, buildspec: str, environment: dict[str, str], answers: dict[str, str], fail_at: int = -1
    ) -> Outcome:
        spec = yaml.safe_load((ROOT / buildspec).read_text())
        commands = [command for phase in spec["phases"].values() for command in phase.get("commands", ())]
        script = "".join(f"{command}\n[ $? -eq 0 ] || exit 1\n" for command in commands)
        names = spec["env"]["exported-variables"]
        script += f"{sys.executable} -SE -c 'import os; print(dict(os.environ))' >\"$EXPORTED\"\n"
        calls, exported = self._folder / "calls", self._folder / "exported"
        calls.unlink(missing_ok=True)
        exported.unlink(missing_ok=True)
        done = subprocess.run(
            [*self._shell, "-c", script],
            cwd=self.source,
            env={
                "PATH": f"{self._programs}:{os.environ['PATH']}",
                "CALLS": str(calls),
                "EXPORTED": str(exported),
                "FAIL_AT": str(fail_at),
                "ANSWERS": repr(answers),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Outcome(
            passed=done.returncode == 0,
            exported={n: v for n, v in literal_eval(exported.read_text()).items() if n in names}
            if exported.exists()
            else {},
            calls=[literal_eval(line) for line in calls.read_text().splitlines()] if calls.exists() else [],
            output=done.stdout + done.stderr,
        )


@pytest.fixture
def shell() -> str:
    """The stricter one, where a test does not ask for both."""
    return "dash"


in_both_shells = pytest.mark.parametrize("shell", SHELLS)


@pytest.fixture
def codebuild(tmp_path: Path, shell: str) -> CodeBuild:
    return CodeBuild(tmp_path, SHELLS[shell])


@pytest.fixture
def image_build(codebuild: CodeBuild) -> CodeBuild:
    codebuild.provide("aws", "docker")
    (codebuild.source / "adapter_image").mkdir()
    for name in ("dlc.toml", "requirements.txt"):
        shutil.copy(ROOT / "adapter_image" / name, codebuild.source / "adapter_image")
    return codebuild


def build_image(
    codebuild: CodeBuild,
    *,
    fail_at: int = -1,
    source: str = SOURCE,
    base: str = BASE,
    built_from: str | None = None,
    variables: dict[str, str] | None = None,
    **answers: str,
) -> Outcome:
    """Build `source`, with further `variables`.

    What ECR has then says that it was built from `built_from`, by default from that.
    """
    labels = {"semif.source-sha256": built_from or source}
    config = codebuild.source / "config.json"
    config.write_text(json.dumps({"config": {"Labels": labels}}))
    environment = {
        "BASE_IMAGE": base,
        "MODEL_BUCKET": "bucket",
        "REPOSITORY_URI": REPOSITORY,
        "SOURCE_SHA256": source,
        **(variables or {}),
    }
    usual = IMAGE_ANSWERS | {"get-download-url-for-layer": config.as_uri()}
    answers = answers | usual | answers  # what is given is also looked at first
    return codebuild.run("buildspec.yml", environment, answers, fail_at)


@in_both_shells
def test_an_image_is_built_pushed_and_read_back(image_build: CodeBuild) -> None:
    outcome = build_image(image_build)
    assert outcome.passed, outcome.output
    assert outcome.exported == {
        "IMAGE_URI": f"{REPOSITORY}@{DIGEST}",
        "IMAGE_SOURCE_SHA256": SOURCE,
        "IMAGE_BASE": BASE,
        "IMAGE_REUSED": "no",
    }
    [build] = [command for command in outcome.commands("docker") if "build" in command]
    lock = hashlib.sha256((ROOT / "adapter_image" / "requirements.txt").read_bytes()).hexdigest()
    for part in (
        "--provenance=false",
        "--sbom=false",
        f"type=image,name={REPOSITORY}:{TAG},oci-mediatypes=false,push=true",
        f"DLC_IMAGE={BASE}",
        f"SOURCE_SHA256={SOURCE}",
        f"WHEEL_LOCK_SHA256={lock}",
        "REVISION=unrecorded",
        "LLAMA_CPP_BUILD=",
    ):
        assert part in build
    assert "PIP_INDEX_URL" not in build


@in_both_shells
def test_a_mirror_of_the_package_index_reaches_the_image_build(image_build: CodeBuild) -> None:
    index = "https://packages.example.com/simple"
    outcome = build_image(image_build, variables={"PIP_INDEX_URL": index})
    assert outcome.passed, outcome.output
    [build] = [call["arguments"] for call in outcome.calls if "buildx" in call["arguments"]]
    assert build[build.index(f"PIP_INDEX_URL={index}") - 1] == "--build-arg"
    assert build[-1] == "adapter_image"


def test_what_the_image_holds_is_stored_under_its_digest(image_build: CodeBuild) -> None:
    outcome = build_image(image_build)
    uploads = [command for command in outcome.commands("aws") if command.startswith("s3 cp")]
    folder = f"s3://bucket/images/{'d' * 64}"
    assert uploads == [f"s3 cp --no-progress {name} {folder}/{name}" for name in RECORDS]
    runs = [command for command in outcome.commands("docker") if command.startswith("run")]
    assert len(runs) == 2
    assert all("--network none" in command and f"{REPOSITORY}:{TAG}" in command for command in runs)
    assert (image_build.source / "sbom.cdx.json").read_text() == "what the image holds\n"


def test_passwords_go_through_standard_input_to_both_registries(image_build: CodeBuild) -> None:
    outcome = build_image(image_build)
    logins = [call for call in outcome.calls if call["arguments"][0] == "login"]
    assert [(call["arguments"][-1], call["stdin"]) for call in logins] == [
        (REGISTRY, "own-secret"),
        ("public.ecr.aws", "public-secret"),
    ]
    assert all("secret" not in " ".join(call["arguments"]) for call in outcome.calls)
    assert "secret" not in outcome.output


@pytest.mark.parametrize(
    ("region", "domain"),
    [("us-west-2", "amazonaws.com"), ("cn-north-1", "amazonaws.com.cn"), ("eusc-de-east-1", "amazonaws.eu")],
)
def test_a_base_in_a_private_registry_of_another_region_gets_its_own_login(
    image_build: CodeBuild, region: str, domain: str
) -> None:
    registry = f"999988887777.dkr.ecr.{region}.{domain}"
    outcome = build_image(image_build, base=f"{registry}/llama-cpp@sha256:{BASE_DIGEST}")
    assert outcome.passed, outcome.output
    assert f"ecr get-login-password --region {region}" in outcome.commands("aws")
    assert any(command.endswith(registry) for command in outcome.commands("docker"))


def test_a_base_in_a_registry_without_login_is_refused(image_build: CodeBuild) -> None:
    outcome = build_image(image_build, base=f"docker.io/llama-cpp@sha256:{BASE_DIGEST}")
    assert not outcome.passed
    assert "public.ecr.aws, got docker.io" in outcome.output


def test_an_image_that_exists_is_neither_built_nor_pushed(image_build: CodeBuild) -> None:
    outcome = build_image(image_build, **{"batch-get-image imageId": DIGEST}, **RECORDS_STORED)
    assert outcome.passed, outcome.output
    assert outcome.exported["IMAGE_URI"] == f"{REPOSITORY}@{DIGEST}"
    assert outcome.exported["IMAGE_REUSED"] == "yes"
    assert outcome.commands("docker") == []
    assert not [command for command in outcome.commands("aws") if command.startswith("s3 ")]


@in_both_shells
@pytest.mark.parametrize("missing", [RECORDS, RECORDS[:1], RECORDS[1:]])
def test_what_a_build_that_ended_after_its_push_did_not_store_is_stored_by_the_next(
    image_build: CodeBuild, missing: tuple[str, ...]
) -> None:
    stored = {words: key for words, key in RECORDS_STORED.items() if not words.endswith(missing)}
    outcome = build_image(image_build, **{"batch-get-image imageId": DIGEST}, **stored)
    assert outcome.passed, outcome.output
    uploads = [command for command in outcome.commands("aws") if command.startswith("s3 cp")]
    assert [command.rpartition("/")[2] for command in uploads] == list(missing)
    assert all(f"s3://bucket/images/{'d' * 64}/" in command for command in uploads)
    login, *runs = [call["arguments"] for call in outcome.calls if call["program"] == "docker"]
    assert (login[0], login[-1]) == ("login", REGISTRY)
    assert [run[-1] for run in runs] == [f"/opt/semif/{name}" for name in missing]
    assert outcome.exported["IMAGE_REUSED"] == "yes"


@pytest.mark.parametrize("existing", ["None", DIGEST])
def test_an_image_of_another_source_under_the_same_tag_fails(image_build: CodeBuild, existing: str) -> None:
    outcome = build_image(image_build, built_from="b" * 64, **{"batch-get-image imageId": existing})
    assert not outcome.passed
    assert f"{REPOSITORY}:{TAG} was built from the source {'b' * 64}, not from {SOURCE}" in outcome.output
    assert "IMAGE_URI" not in outcome.exported


def test_another_source_and_another_base_are_another_tag(image_build: CodeBuild) -> None:
    def tag(source: str, base: str) -> str:
        outcome = build_image(image_build, source=source, base=base)
        lookup, *_ = [command for command in outcome.commands("aws") if "batch-get-image" in command]
        return lookup.partition("imageTag=")[2].split()[0]

    cuda = BASE.replace(BASE_DIGEST, "9f2eb2d9cbdc3172c2046117c4a43401bc95dbabdc3e2aeaa35daa11565c8b36")
    tags = {tag(SOURCE, BASE), tag("b" * 64, BASE), tag(SOURCE, cuda)}
    assert len(tags) == 3
    assert all(len(tag) <= 128 for tag in tags)  # what ECR allows


@pytest.mark.parametrize("media_type", ["application/vnd.oci.image.index.v1+json", "None", ""])
@pytest.mark.parametrize("existing", ["None", DIGEST])
def test_an_image_that_sagemaker_cannot_run_fails(
    image_build: CodeBuild, media_type: str, existing: str
) -> None:
    answers = {"batch-get-image imageId": existing, "describe-images imageManifestMediaType": media_type}
    outcome = build_image(image_build, **answers)
    assert not outcome.passed
    assert "media type" in outcome.output
    assert "IMAGE_URI" not in outcome.exported


@pytest.mark.parametrize("digest", ["None", "", "sha256:dd", f"sha512:{'d' * 64}"])
def test_a_read_back_that_is_no_digest_fails(image_build: CodeBuild, digest: str) -> None:
    outcome = build_image(image_build, **{"describe-images imageDigest": digest})
    assert not outcome.passed
    assert "is no SHA-256" in outcome.output


@pytest.mark.parametrize(
    "base", ["public.ecr.aws/x/llama-cpp:server-cpu-v1", BASE.replace("1f", "1F"), f"{BASE}0"]
)
def test_a_base_without_a_digest_is_refused_before_anything_happens(
    image_build: CodeBuild, base: str
) -> None:
    outcome = build_image(image_build, base=base)
    assert not outcome.passed
    assert "BASE_IMAGE must be repository@sha256:" in outcome.output
    assert outcome.calls == []


def test_a_base_that_is_not_pinned_is_refused(image_build: CodeBuild) -> None:
    outcome = build_image(image_build, base=BASE.replace(BASE_DIGEST, "e" * 64))
    assert not outcome.passed
    assert "dlc.toml pins no base" in outcome.output
    assert not any("buildx" in command for command in outcome.commands("docker"))


@in_both_shells
def test_every_failing_command_fails_the_image_build(image_build: CodeBuild) -> None:
    image_build.count("grep", "python3", "sha256sum")
    calls = [call["program"] for call in build_image(image_build).calls]
    assert calls == [
        *("grep", "grep", "aws"),  # the arguments, and whether the image is there
        *("aws", "docker", "aws", "docker"),  # both logins
        *("python3", "sha256sum", "docker"),  # the base's pin, the lock's hash, the build
        *("aws", "aws", "grep"),  # what ECR says of it
        *("aws", "python3", "aws", "python3"),  # and what it says of itself
        *("aws", "aws"),  # whether what is in it is stored
        *("docker", "aws", "docker", "aws"),  # what is in it
    ]
    check_that_every_call_counts(image_build, len(calls))


@in_both_shells
def test_every_failing_command_fails_a_build_that_stores_what_another_did_not(image_build: CodeBuild) -> None:
    image_build.count("grep", "python3")
    exists = {"batch-get-image imageId": DIGEST}
    calls = [call["program"] for call in build_image(image_build, **exists).calls]
    assert calls[-8:] == ["aws", "aws", "aws", "docker", "docker", "aws", "docker", "aws"]
    check_that_every_call_counts(image_build, len(calls), **exists)


def check_that_every_call_counts(image_build: CodeBuild, number: int, **answers: str) -> None:
    for position in range(number):
        outcome = build_image(image_build, fail_at=position, **answers)
        assert not outcome.passed, f"call {position} failed and the build passed"
        assert len(outcome.calls) == position + 1, "commands ran after the failure"
        assert outcome.exported == {}


def model_build(
    codebuild: CodeBuild, *, fail_at: int = -1, result: str = json.dumps(MODEL_RESULT)
) -> Outcome:
    codebuild.provide("python3")
    interpreter = codebuild.source / ".venv" / "bin"
    interpreter.mkdir(parents=True, exist_ok=True)
    # `python -m` is a stand-in; `python -c`, which reads the result, is the real interpreter.
    codebuild.provide("stand-in", folder=interpreter)
    (interpreter / "python").write_text(
        f'#!/bin/sh\ncase $1 in -c) exec {sys.executable} "$@" ;; esac\nexec "$0-stand-in" "$@"\n'
    )
    (interpreter / "python").chmod(0o755)
    (interpreter / "stand-in").rename(interpreter / "python-stand-in")
    environment = {"MODEL_BUCKET": "bucket", "PRESET": "embedded", "MODEL_FORMAT": "tar.gz"}
    return codebuild.run("buildspec.model.yml", environment, {"model build": result}, fail_at)


@in_both_shells
def test_a_model_is_packed_and_its_pins_exported(codebuild: CodeBuild) -> None:
    outcome = model_build(codebuild)
    assert outcome.passed, outcome.output
    assert outcome.exported == {
        "MODEL_S3_URI": MODEL_RESULT["s3_uri"],
        "MODEL_ARCHIVE_SHA256": "c" * 64,
        "MODEL_MANIFEST_SHA256": "b" * 64,
        "MODEL_FORMAT": "tar.gz",
    }
    venv, pip, build = outcome.commands("python3") + outcome.commands("python-stand-in")
    assert venv == "-m venv --without-pip .venv"
    assert pip.startswith("-m pip --python .venv install ")
    assert "--require-hashes" in pip
    assert build == "-m semif model build embedded --format tar.gz --output s3://bucket/models --json"


@in_both_shells
def test_every_failing_command_fails_the_model_build(codebuild: CodeBuild) -> None:
    for position in range(3):
        outcome = model_build(codebuild, fail_at=position)
        assert not outcome.passed, f"call {position} failed and the build passed"
        assert len(outcome.calls) == position + 1
        assert outcome.exported == {}


@pytest.mark.parametrize("result", ["", "no JSON", json.dumps({"path": "/tmp/model.tar.gz"})])
def test_a_result_that_lacks_a_pin_fails_the_model_build(codebuild: CodeBuild, result: str) -> None:
    outcome = model_build(codebuild, result=result)
    assert not outcome.passed
    assert outcome.exported == {}


@pytest.mark.parametrize("buildspec", ["buildspec.yml", "buildspec.model.yml"])
def test_every_block_stops_at_its_first_failure(buildspec: str) -> None:
    spec = yaml.safe_load((ROOT / buildspec).read_text())
    commands = [command for phase in spec["phases"].values() for command in phase.get("commands", ())]
    assert commands
    assert all(command.startswith("set -eu\n") for command in commands)
    assert "shell" not in spec["env"]  # CodeBuild's own: whatever `sh` is
