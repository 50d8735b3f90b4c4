"""`environments/*.toml`: what each deployment is, read into one typed value.

All problems of a file are reported at once, each with its key, the value received and what is allowed.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails

from semif.errors import SemifError
from semif.instances import Accelerator, accelerator_of, placement_problems
from semif.presets import preset_names
from semif.project import project_root
from semif.text_variables import VariableValue, name_problems, with_gpu_layers
from semif.toml_file import read_toml, shown
from semif_adapter.settings import Settings

FIXED_SETTINGS = ("model_dir", "gguf", "library_dir", "host", "port", "endpoint_name")
"""Settings that the image, SageMaker and the environment's name fix; an environment may set the others."""


def _written_as(pattern: str, allowed: str) -> AfterValidator:
    """For text of this form; `allowed` is how people are told, and not by the pattern."""
    form = re.compile(pattern)

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError(f"{shown(text)} must be {allowed}")
        return text

    return AfterValidator(check)


EnvironmentName = Annotated[
    str,
    StringConstraints(max_length=40),
    _written_as(
        "[a-z][a-z0-9]*(-[a-z0-9]+)*",
        "lower-case letters and digits, in words with single hyphens between, a letter first",
    ),
]
"""Part of the names of stacks (`Semif-NAME-…`) and of the endpoint (`semif-NAME`, at most 63 characters)."""
AccountId = Annotated[str, _written_as("[0-9]{12}", "12 digits in quotes")]
Region = Annotated[str, _written_as("[a-z]{2,4}(-[a-z]+)+-[0-9]", "a region's name, such as eu-central-1")]
TimeoutSeconds = Annotated[int, Field(ge=60, le=3600)]
Kind = Literal["decision", "text"]
"""What answers: our adapter with decisions, or the published container with chat completions."""


def _at_least_one(count: int) -> int:
    if count < 1:
        raise ValueError(
            f"{count} instances are not possible: scaling to zero needs inference components, "
            "a variant keeps at least 1"
        )
    return count


class Table(BaseModel):
    """Base of every table of the file: immutable, nothing coerced, nothing unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ModelTable(Table):
    """`[model]`: which preset of `models/` is served."""

    preset: Annotated[str, StringConstraints(min_length=1)]


class EndpointTable(Table):
    """`[endpoint]`: where it runs. Timeouts are seconds; SageMaker allows what the bounds say."""

    instance_type: str | None = None
    instance_pool: list[str] | None = None
    """One to five instance types in order of preference: a fallback for placement, not load balancing."""
    provision_timeout_seconds: int | None = None
    """How long one pool is tried before the next; SageMaker's default applies where unset."""
    initial_instance_count: Annotated[int, AfterValidator(_at_least_one)] = 1
    startup_timeout_seconds: TimeoutSeconds
    """From the start of the container to its first healthy `/ping`: loading the model happens in between."""
    model_download_timeout_seconds: TimeoutSeconds
    """For fetching and unpacking the archive, before the container starts."""
    inference_ami_version: str | None = None

    @property
    def instance_types(self) -> tuple[str, ...]:
        """Every instance type that may be used, the preferred one first."""
        return tuple(self.instance_pool) if self.instance_pool else (cast(str, self.instance_type),)


class Environment(Table):
    """One named deployment. Read with `load_environment`."""

    name: EnvironmentName
    kind: Kind
    account: AccountId | None = None
    region: Region | None = None
    removal: Literal["destroy", "retain"]
    """What `semif destroy` leaves behind: nothing, or the bucket and the image repository."""
    model: ModelTable
    endpoint: EndpointTable
    adapter: Settings = Settings.from_env({})
    """Of kind `decision` only."""
    text: dict[str, VariableValue] = {}
    """Of kind `text` only: variables of the container, named as semif/text_variables.py says."""

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, tables: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Check the tables together as well, even where a key alone is wrong already."""
        together = _problems_together(tables) if isinstance(tables, Mapping) else ()
        found: list[InitErrorDetails] = [
            {"type": "value_error", "loc": (), "input": None, "ctx": {"error": ValueError(problem)}}
            for problem in together
        ]
        try:
            environment = handler(tables)
        except ValidationError as error:
            found = [cast(InitErrorDetails, details) for details in error.errors(include_url=False)] + found
        if found:
            raise ValidationError.from_exception_data(cls.__name__, found)
        return environment

    @property
    def accelerator(self) -> Accelerator:
        """What llama.cpp runs on; the same for every instance type of the environment."""
        return accelerator_of(self.endpoint.instance_types[0])

    @property
    def settings(self) -> Settings:
        """The adapter's settings in the container. On a GPU all layers go there unless the file says less."""
        fixed: dict[str, object] = {"endpoint_name": self.endpoint_name}
        if self.accelerator == "cuda" and self.adapter.gpu_layers == 0:
            fixed["gpu_layers"] = -1
        return self.adapter.model_copy(update=fixed)

    @property
    def container_variables(self) -> dict[str, str]:
        """The container's environment: the adapter's settings, or llama-server's with the same default."""
        if self.kind == "decision":
            return self.settings.to_env()
        return with_gpu_layers(self.text) if self.accelerator == "cuda" else dict(self.text)

    @property
    def endpoint_name(self) -> str:
        """The endpoint's fixed name: models and images change behind it."""
        return f"semif-{self.name}"

    @property
    def artifacts_stack(self) -> str:
        """Name of the stack with the bucket, the repository and the builds."""
        return f"Semif-{self.name}-Artifacts"

    @property
    def endpoint_stack(self) -> str:
        """Name of the stack with the role, the model and the endpoint."""
        return f"Semif-{self.name}-Endpoint"


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


def _problems_together(tables: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong across keys, found on the raw tables: also where a key alone is wrong already."""
    preset = _typed(_table(tables, "model"), "preset", str)
    if preset and preset not in (known := preset_names()):
        yield f"model.preset: there is no preset {shown(preset)}, known are {', '.join(known)}"
    if tables.get("kind") == "text" and "adapter" in tables:
        yield "[adapter] does not go with kind = 'text': the published container is set with [text]"
    if tables.get("kind") == "decision" and "text" in tables:
        yield "[text] does not go with kind = 'decision': our adapter is set with [adapter]"
    yield from name_problems(_table(tables, "text"))
    adapter = _table(tables, "adapter")
    for key in FIXED_SETTINGS:
        if key in adapter:
            yield f"adapter.{key} is not a known key: the deployment fixes it"
    if "api_key" in adapter:
        yield "adapter.api_key is not a known key: IAM guards the endpoint, and SageMaker hands no key on"
    endpoint = _table(tables, "endpoint")
    pool = _typed(endpoint, "instance_pool", list)
    types = [item for item in pool if isinstance(item, str)] if pool is not None else None
    placement = {
        "instance_type": _typed(endpoint, "instance_type", str),
        "instance_pool": types,
        "provision_timeout_seconds": _typed(endpoint, "provision_timeout_seconds", int),
        "inference_ami_version": _typed(endpoint, "inference_ami_version", str),
    }
    if endpoint:
        yield from (f"endpoint: {problem}" for problem in placement_problems(**placement))
    yield from _gpu_layer_problems(adapter, [*(types or ()), *filter(None, [placement["instance_type"]])])


def _gpu_layer_problems(adapter: Mapping[str, Any], types: list[str]) -> Iterator[str]:
    layers = adapter.get("gpu_layers")
    if layers is None:
        return
    for instance_type in types:
        try:
            on_gpu = accelerator_of(instance_type) == "cuda"
        except ValueError:  # reported as a problem of the endpoint table
            continue
        if on_gpu and layers == 0:
            yield f"adapter.gpu_layers = 0: {instance_type} has a GPU that would idle; use -1 for all layers"
            return
        if not on_gpu and layers != 0:
            yield f"adapter.gpu_layers = {layers!r}: {instance_type} has no GPU, remove it"
            return


def _table(tables: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = tables.get(key)
    return value if isinstance(value, Mapping) else {}


def _typed(table: Mapping[str, Any], key: str, kind: type) -> Any:
    """The value where it has the type; a wrong type is reported by the table itself."""
    value = table.get(key)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None
