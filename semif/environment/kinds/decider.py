"""Kind `decider`: the published container for Strands Decider as it is, which answers System One requests."""

from collections.abc import Iterator, Mapping
from typing import Any

from semif.environment.environment_file import EnvironmentFile
from semif.environment.kinds.kind import ServingKind
from semif.environment.memory_need import MemoryNeed, decider_need
from semif.environment.tables.raw import RawTables, instance_types_in, table_in
from semif.images.base_images import Container
from semif.models.checkpoint.checkpoint_preset import HUB_CACHE, CheckpointPreset, checkpoint_names
from semif.models.presets import AnyPreset
from semif.sagemaker.instances import Accelerator, accelerator_of
from semif_adapter.contract.settings import Settings


class Decider(ServingKind):
    """The published container for Strands Decider."""

    name = "decider"
    container = "the container for Strands Decider"
    table = "decider"
    runs_adapter = False
    queues = True
    answers = "it answers System One requests"
    forms = ("system-one",)
    asks_examples = False
    no_preset = "; pin one with `semif model pin-checkpoint hf:OWNER/REPOSITORY`"
    hub_problem = "model.hf_repo goes with kind = 'text' only: a checkpoint is pinned with its base model"
    transform_problem = "its model is files under a prefix, which CreateTransformJob refuses"
    sizing_problem = "our adapter's token rate says nothing about PyTorch's"

    def usage(self, command_line: str) -> str:
        """`semif decide`."""
        return f"semif decide {command_line} FILE"

    def asking_command(self, command_line: str, _file: str) -> str:
        """`semif decide`, with the one example that is of its form."""
        return f"semif decide {command_line} examples/systemone.json"

    def request_problem(self, request: Mapping[str, Any]) -> str | None:
        """System One's form alone may be asked; OpenAI's has a list under the same name."""
        if not isinstance(request.get("questions"), dict) or "state" not in request:
            return (
                'is no System One request ({"state": …, "questions": {…}}), the only form that the container '
                "for Strands Decider takes"
            )
        return None

    def preset_names(self) -> tuple[str, ...]:
        """Those of checkpoints."""
        return checkpoint_names()

    def base_container(self, _accelerator: Accelerator) -> Container:
        """Its own."""
        return "decider"

    def endpoint_problems(self, tables: RawTables, /) -> Iterator[str]:
        """It needs a GPU, and a model that is not packed."""
        model = table_in(tables, "model")
        if "preset" in model and model.get("format") != "prefix":
            yield (
                "model.format must be 'prefix' with kind = 'decider': the model is many files, which the "
                "container finds as they are"
            )
        for name in instance_types_in(tables):
            try:
                has_gpu = accelerator_of(name) == "cuda"
            except ValueError:  # reported as a problem of the endpoint table
                continue
            if not has_gpu:
                yield (
                    f"endpoint: {name} has no GPU, and the container for Strands Decider is built for one; "
                    "take ml.g6.xlarge, or another type with an NVIDIA GPU"
                )

    def at_once(self, _file: EnvironmentFile) -> int:
        """One: the server computes one request at a time, the others wait in it."""
        return 1

    def container_variables(self, file: EnvironmentFile, _settings: Settings, /) -> dict[str, str]:
        """The server's settings, and where its files lie."""
        preset = file.preset
        assert isinstance(preset, CheckpointPreset), "the kind's own presets are checkpoints"
        return file.decider.variables(folder=preset.folder, hub_cache=HUB_CACHE)

    def memory_need(self, preset: AnyPreset, _file: EnvironmentFile, _settings: Settings, /) -> MemoryNeed:
        """What its server takes."""
        return decider_need(preset)
