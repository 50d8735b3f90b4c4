"""What the image is made of: the pinned bases, the hash-locked wheels, and the one version number."""

import re
import tomllib
from pathlib import Path

import pytest

from semif.errors import ProblemsError, SemifError
from semif.images.base_images import base_image

ROOT = Path(__file__).resolve().parents[3]
DIGEST = f"sha256:{'a' * 64}"
GOOD = f"""
[cpu]
repository = "registry.example/llama"
tag = "cpu-v1"
digest = "{DIGEST}"
[cuda]
repository = "registry.example/llama"
tag = "cuda-v1"
digest = "{DIGEST}"
resolved_on = 2026-09-25
llama_cpp_build = "b10964"
cuda_major = 13
[decider]
repository = "registry.example/decider"
tag = "cuda-v1"
[graviton]
repository = "registry.example/llama-arm64"
tag = "cpu-v1"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "dlc.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
def test_the_projects_own_bases_are_pinned(accelerator: str) -> None:
    image = base_image(accelerator, ROOT / "adapter_image" / "dlc.toml")  # type: ignore[arg-type]  # a parameter
    assert image.repository == "public.ecr.aws/deep-learning-containers/llama-cpp"


def test_a_base_without_a_digest_says_how_to_pin_it(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert str(base_image("cpu", path)) == f"registry.example/llama@{DIGEST}"
    with pytest.raises(SemifError, match=r"pins no digest for graviton; run `semif image pin arm64`"):
        base_image("graviton", path)


def test_all_problems_of_the_file_are_reported(tmp_path: Path) -> None:
    text = (
        GOOD.replace(DIGEST, "sha256:short", 1)
        .replace("b10964", "latest")
        .replace("= 13", "= 3")
        .replace('tag = "cpu-v1"\n', "", 1)
    )
    with pytest.raises(ProblemsError) as caught:
        base_image("cpu", write(tmp_path, text + "surprise = 1\n"))
    told = str(caught.value)
    for problem in ("cpu.tag is missing", "cuda.llama_cpp_build", "cuda.cuda_major", "graviton.surprise"):
        assert problem in told
    with pytest.raises(ProblemsError, match=r"cpu.*sha256:short"):
        base_image("cpu", write(tmp_path, GOOD.replace(DIGEST, "sha256:short", 1)))


def locked(path: str) -> dict[str, set[str]]:
    """Package and version to their hashes; the platforms hang on what else is installed."""
    entries = re.split(r"\n(?=[a-z0-9])", (ROOT / path).read_text())
    return {
        re.split(r" [;\\]", entry)[0]: set(re.findall(r"--hash=(sha256:[0-9a-f]{64})", entry))
        for entry in entries
        if not entry.startswith("#")
    }


@pytest.mark.parametrize("path", ["adapter_image/requirements.txt", "requirements/model-build.txt"])
def test_what_is_installed_elsewhere_is_what_the_tests_run_on(path: str) -> None:
    packages = locked(path)
    assert packages
    assert all(packages.values()), "a package without a hash"
    assert packages.items() <= locked("requirements/dev.txt").items()


def test_the_container_installs_what_the_adapter_extra_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "adapter_image" / "requirements.in").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == project["optional-dependencies"]["adapter"]


def test_the_image_has_the_projects_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"ARG VERSION={version}\n" in (ROOT / "adapter_image" / "Dockerfile").read_text()


def test_the_image_starts_the_server_itself() -> None:
    text = (ROOT / "adapter_image" / "Dockerfile").read_bytes()
    assert b"\r" not in text
    assert b'\nENTRYPOINT ["/opt/semif/venv/bin/python", "-P", "-m", "semif_adapter"]\n' in text
