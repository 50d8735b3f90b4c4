"""`environments/*.toml`: what each deployment is, read into one typed value.

All problems of a file are reported at once, each with its key, the value received and what is allowed.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Self

from pydantic import ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from semif.environment.environment_file import EnvironmentFile
from semif.environment.error_details import (
    as_errors,
    as_meant,
    problems_across,
    without_wrong_tables,
)
from semif.environment.kinds import KINDS
from semif.environment.kinds.kind import ServingKind
from semif.environment.memory_need import MemoryNeed, memory_problems, memory_warnings
from semif.environment.modes import MODES
from semif.environment.modes.async_ import concurrent_invocations
from semif.environment.modes.mode import InferenceMode
from semif.environment.tables.builds import builds_warnings
from semif.errors import SemifError, shown
from semif.images.base_images import Container, check_knows_head
from semif.images.image_ref import ImageRef
from semif.images.regional_images import build_base
from semif.models.presets import Preset
from semif.project.root import project_root
from semif.project.toml_file import read_toml
from semif.sagemaker.llama_server_variables import ALL_GPU_LAYERS
from semif.sagemaker.placement import (
    fallback_types,
    fallback_warnings,
    pool_region_warning,
    volume_warnings,
)
from semif_adapter.archive.prompt_version import DIRECT_OPTIONS
from semif_adapter.contract.settings import Settings

UNKNOWN_SIZE = "the memory is not checked: the size of a file on Hugging Face is not known here"
LOG_OF_SAGEMAKER = (
    "log_retention_days and the KMS key do not reach the endpoint's log: with a model from Hugging Face "
    "there is no Artifacts stack to hold it, so SageMaker makes it, without a key and kept for ever"
)


class Environment(EnvironmentFile):
    """One named deployment. Read with `load_environment`."""

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, tables: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Check the tables together as well, even where a key alone is wrong already."""
        together, aside = problems_across(tables)
        problems: list[InitErrorDetails] = []
        whole: Self | None = None
        try:
            environment = whole = handler(tables)
        except ValidationError as error:
            of_keys = error.errors(include_url=False)
            problems = as_meant(of_keys)
            whole = without_wrong_tables(handler, tables, of_keys)
        of_whole = whole._whole_problems() if whole is not None and not together else ()
        problems += as_errors([*together, *aside, *of_whole])
        if problems:
            raise ValidationError.from_exception_data(cls.__name__, problems)
        return environment

    def _whole_problems(self) -> Iterator[str]:
        """What only the file as a whole shows."""
        yield from chain.from_iterable(placed.memory_problems for placed in self.placements)
        yield from self.inference_mode.start_problems(self)
        yield from self._files_problems()

    def _files_problems(self) -> Iterator[str]:
        """What is wrong between the file and its preset."""
        if self.registry is not None and self.preset is None:
            yield (
                "registry: a package holds image and model, and this container downloads its model; pin the "
                "model as a preset, or remove [registry]"
            )
        if self.adapter.template == DIRECT_OPTIONS and not self.answers_with_letters:
            yield (
                f"adapter.template = {DIRECT_OPTIONS!r} lists options behind letters, which are not read; "
                "set adapter.readout = 'letters', or remove the template"
            )

    @property
    def serving_kind(self) -> ServingKind:
        """What answers."""
        return KINDS[self.kind]

    @property
    def inference_mode(self) -> InferenceMode:
        """How it is asked."""
        return MODES[self.endpoint.mode]

    @property
    def base_container(self) -> Container:
        """The entry of adapter_image/dlc.toml that it runs, or that its image extends."""
        return self.serving_kind.base_container(self.accelerator)

    @property
    def placements(self) -> "tuple[Environment, ...]":
        """This environment once for each accelerator of its instance types, the preferred one first.

        Image, settings, variables and memory are each one's own. Mostly it is the environment itself; a pool
        of GPU types that ends in CPU types makes two.
        """
        on_cpu = fallback_types(self.endpoint.instance_types)
        if not on_cpu:
            return (self,)
        preferred = [name for name in self.endpoint.instance_types if name not in on_cpu]
        return self._on(preferred), self._on(on_cpu)._without_gpu()

    @property
    def fallback(self) -> "Environment | None":
        """This environment on the CPU types that end its pool of GPU types; None: there are none."""
        return self.placements[1] if len(self.placements) > 1 else None

    def _on(self, types: Iterable[str]) -> "Environment":
        endpoint = self.endpoint.model_copy(update={"instance_pool": list(types)})
        return self.model_copy(update={"endpoint": endpoint})

    def _without_gpu(self) -> "Environment":
        """What the file says of layers on a GPU is for the types that have one."""
        text = {name: value for name, value in self.text.items() if name not in ALL_GPU_LAYERS}
        adapter = self.adapter.model_copy(update={"gpu_layers": 0})
        return self.model_copy(update={"adapter": adapter, "text": text})

    @property
    def base_image(self) -> ImageRef:
        """The published container: what the adapter's image extends, or what serves as it is.

        It is in the registry that a build takes it from, `[builds]` base_repository where the file has one.
        Raises SemifError where none is pinned, or none is published in the environment's region.
        """
        region = self.region if self.serving_kind.runs_adapter else None
        mirror = self.builds.base_repository if self.builds is not None else None
        return build_base(self.base_container, region, mirror=mirror)

    @property
    def derived(self) -> Mapping[str, Any]:
        """Keys of the file, by their paths, that are not what they are in realtime."""
        return self.inference_mode.derived(self, self.serving_kind)

    @property
    def settings(self) -> Settings:
        """The adapter's settings in the container: the file's, and those that the mode derives.

        On a GPU all layers go there unless the file says less.
        """
        fixed: dict[str, object] = {"endpoint_name": self.endpoint_name}
        if self.accelerator == "cuda" and self.adapter.gpu_layers == 0:
            fixed["gpu_layers"] = -1
        for path, value in self.derived.items():
            table, key = path.split(".")
            if table == "adapter":
                fixed[key] = value
        return self.adapter.model_copy(update=fixed)

    @property
    def concurrent_invocations(self) -> int:
        """Most requests that the queue of an asynchronous endpoint sends to one container at once.

        The file's, or as many as the container keeps prompts of at once: they keep it busy, and none of them
        waits long for another.
        """
        return concurrent_invocations(self, self.serving_kind)

    @property
    def answers_with_letters(self) -> bool:
        """Whether the adapter reads the letters of options. Raises SemifError for an unknown preset."""
        preset = self.preset
        if not self.serving_kind.runs_adapter or not isinstance(preset, Preset):
            return False
        return (self.adapter.readout or preset.prompt.readout) == "letters"

    def check_bases(self) -> None:
        """Raise SemifError as `base_image`, for each accelerator."""
        for placed in self.placements:
            _ = placed.base_image

    def check_head(self) -> None:
        """Raise SemifError where a container to extend is too old for the model's decision head."""
        preset = self.preset
        if self.serving_kind.runs_adapter and isinstance(preset, Preset) and preset.prompt.head is not None:
            for placed in self.placements:
                check_knows_head(placed.accelerator, preset.prompt.head)

    @property
    def container_variables(self) -> dict[str, str]:
        """The container's environment: the adapter's settings, or llama-server's, bounded."""
        return self.serving_kind.container_variables(self, self.settings)

    @property
    def memory_need(self) -> MemoryNeed | None:
        """What the model and its server take, estimated, None where the model's size is not known.

        Raises SemifError for an unknown preset.
        """
        preset = self.preset
        return None if preset is None else self.serving_kind.memory_need(preset, self, self.settings)

    @property
    def memory_problems(self) -> tuple[str, ...]:
        """Each of its instance types that model and context do not fit, with the numbers."""
        need = self.memory_need
        return tuple(memory_problems(need, self.endpoint.instance_types)) if need is not None else ()

    def region_warnings(self, region: str) -> tuple[str, ...]:
        """What `region` is not known to have for it."""
        pool = self.endpoint.instance_pool is not None
        warning = pool_region_warning(region) if pool else None
        of_pool = (f"endpoint.{warning}",) if warning is not None else ()
        return (*of_pool, *(builds_warnings(self.builds, region) if self.builds is not None else ()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is no mistake, but not what the file may lead to expect."""
        return (
            *(memory_warnings(need) if (need := self.memory_need) is not None else [UNKNOWN_SIZE]),
            *([LOG_OF_SAGEMAKER] if self.preset is None else []),
            *self.inference_mode.warnings(self),
            *(f"endpoint.instance_pool: {line}" for line in fallback_warnings(self.endpoint.instance_types)),
            *(self.region_warnings(self.region) if self.region is not None else ()),
            *volume_warnings(
                self.endpoint.instance_types,
                volume_size_gb=self.endpoint.volume_size_gb,
                encrypted=self.encryption is not None,
            ),
        )


def environment_names() -> tuple[str, ...]:
    """Names of the project's environments, sorted."""
    return tuple(sorted(path.stem for path in environments_folder().glob("*.toml")))


def environments_folder() -> Path:
    """The folder of the environment files and of their locks."""
    return project_root() / "environments"


def load_environment(name: str) -> Environment:
    """The environment `environments/<name>.toml`.

    Raises SemifError if there is none of that name, ProblemsError with all problems of its file.
    """
    known = environment_names()
    if name not in known:
        raise SemifError(f"there is no environment {shown(name)}, known are {', '.join(known) or 'none'}")
    return read_environment(environments_folder() / f"{name}.toml")


def read_environment(path: Path) -> Environment:
    """The environment of one file, named after it. Raises ProblemsError with all problems of the file."""
    return read_toml(path, Environment, {"name": path.stem})
