"""A pool of GPU types that ends in CPU types: what each accelerator has of its own, and what goes with it."""

import json
import re
from collections.abc import Callable

import pytest

from semif.environment.environment import Environment
from semif.environment.explained import resolved
from semif.errors import ProblemsError
from semif.images.base_images import base_image
from semif.lock.check import check_lock
from semif.lock.lock_file import Lock
from semif.sagemaker.placement import CUDA_AMI_VERSIONS

EnvironmentOf = Callable[..., Environment]
ExampleLock = Callable[[Environment], Lock]
AMI = f'inference_ami_version = "{CUDA_AMI_VERSIONS[0]}"'


def file(pool: str, *, kind: str = "decision", rest: str = "", preset: str = "qwen3.5-4b") -> str:
    head = f'kind = "{kind}"\nremoval = "destroy"\n[model]\npreset = "{preset}"\n'
    return f"{head}[endpoint]\ninstance_pool = {pool}\n{AMI}\n{rest}"


MIXED = '["ml.g6.xlarge", "ml.g5.xlarge", "ml.c6i.8xlarge", "ml.m7i.4xlarge"]'


def test_each_accelerator_has_its_types_its_image_and_its_layers(environment_of: EnvironmentOf) -> None:
    whole = environment_of(file(MIXED, rest="[adapter]\ngpu_layers = 20"))
    on_gpu, on_cpu = whole.placements
    assert on_gpu.endpoint.instance_types == ("ml.g6.xlarge", "ml.g5.xlarge")
    assert on_cpu.endpoint.instance_types == ("ml.c6i.8xlarge", "ml.m7i.4xlarge")
    assert (on_gpu.accelerator, on_cpu.accelerator) == ("cuda", "cpu")
    assert (on_gpu.settings.gpu_layers, on_cpu.settings.gpu_layers) == (20, 0)
    assert (on_gpu.base_image, on_cpu.base_image) == (base_image("cuda"), base_image("cpu"))
    assert on_gpu.placements == (on_gpu,)
    assert (whole.fallback, on_gpu.fallback) == (on_cpu, None)
    assert {on_gpu.endpoint_name, on_cpu.endpoint_name} == {whole.endpoint_name}


def test_words_have_their_layers_on_the_gpu_alone(environment_of: EnvironmentOf) -> None:
    rest = "[text]\nSM_LLAMA_CPP_N_GPU_LAYERS = 30\nSM_LLAMA_CPP_PARALLEL = 2"
    on_gpu, on_cpu = environment_of(file(MIXED, kind="text", rest=rest)).placements
    assert on_gpu.container_variables["SM_LLAMA_CPP_N_GPU_LAYERS"] == "30"
    assert "SM_LLAMA_CPP_N_GPU_LAYERS" not in on_cpu.container_variables
    assert on_gpu.container_variables.items() - on_cpu.container_variables.items() == {
        ("SM_LLAMA_CPP_N_GPU_LAYERS", "30")
    }


_KEEP = "keep to one, or let a pool of NVIDIA GPUs"
_LAST = "CPU types must come last, behind all that have GPUs"


@pytest.mark.parametrize(
    ("pool", "advice"),
    [
        ('["ml.c6i.8xlarge", "ml.g6.xlarge"]', _LAST),
        ('["ml.g6.xlarge", "ml.c6i.8xlarge", "ml.g5.xlarge"]', _LAST),
        ('["ml.g6.xlarge", "ml.c7g.8xlarge"]', _KEEP),
        ('["ml.g6.xlarge", "ml.c6i.8xlarge", "ml.c7g.8xlarge"]', _KEEP),
    ],
)
def test_gpus_come_first_and_x86_cpus_last(environment_of: EnvironmentOf, pool: str, advice: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(file(pool))
    (problem,) = caught.value.problems
    types = r" \(\w+\), ".join(json.loads(pool))
    assert re.search(rf"mix accelerators: {types} \(\w+\); {advice}", problem)


def test_without_a_host_image_the_gpus_have_no_driver(environment_of: EnvironmentOf) -> None:
    with pytest.raises(ProblemsError, match="inference_ami_version is missing"):
        environment_of(file(MIXED).replace(AMI, ""))


def test_a_cpu_must_hold_all_of_it_in_its_memory(environment_of: EnvironmentOf) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(file('["ml.g6.xlarge", "ml.c6i.large"]'))
    (problem,) = caught.value.problems
    assert problem.startswith("ml.c6i.large has 4.0 GiB of memory")
    assert "weights 2.8 GiB" in problem


def test_what_is_not_known_is_warned_of_and_what_is_other_is_shown(environment_of: EnvironmentOf) -> None:
    whole = environment_of(file(MIXED))
    assert any(
        line.startswith(
            "endpoint.instance_pool: ml.c6i.8xlarge, ml.m7i.4xlarge at the end of the pool: infer"
        )
        for line in whole.warnings
    )
    shown = resolved(whole)
    assert shown["fallback"]["instance_types"] == ["ml.c6i.8xlarge", "ml.m7i.4xlarge"]
    assert shown["fallback"]["base_image"]["pinned"] == str(base_image("cpu"))
    assert shown["fallback"]["memory_needed"]["gpu_memory_bytes"] == 0
    assert shown["memory_needed"]["gpu_memory_bytes"] > 0
    assert shown["container_variables"]["SEMIF_GPU_LAYERS"] == "-1"
    assert "SEMIF_GPU_LAYERS" not in shown["fallback"]["container_variables"]
    alone = environment_of(file('["ml.g6.xlarge", "ml.g5.xlarge"]'))
    assert resolved(alone)["fallback"] is None
    assert not any("at the end of the pool" in line for line in alone.warnings)


@pytest.mark.parametrize("kind", ["decision", "text"])
def test_a_lock_pins_both_images(environment_of: EnvironmentOf, example_lock: ExampleLock, kind: str) -> None:
    whole = environment_of(file(MIXED, kind=kind))
    lock = example_lock(whole)
    assert list(lock.image_uris) == ["image", "fallback_image"]
    assert Lock.model_validate(lock.content()) == lock
    check_lock(lock, whole, source="x", bases=True)
    without = lock.model_copy(update={"fallback_image": None})
    assert not lock.pins_same_as(without)
    assert "fallback_image" not in without.content()
    with pytest.raises(ProblemsError, match="fallback_image is missing, of the CPU types that end the pool"):
        check_lock(without, whole, source="x")
    swapped = lock.model_copy(update={"image": lock.fallback_image, "fallback_image": lock.image})
    with pytest.raises(ProblemsError) as caught:
        check_lock(swapped, whole, source="x", bases=True)
    keys = {problem.partition(" ")[0] for problem in caught.value.problems}
    assert {"image.base", "fallback_image.base"} <= keys
    assert ("image.uri" in keys) == (kind == "text")
