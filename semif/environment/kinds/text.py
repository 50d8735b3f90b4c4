"""Kind `text`: the published container as it is, llama-server, which answers with chat completions."""

from collections.abc import Mapping
from typing import Any

from semif.environment.environment_file import EnvironmentFile
from semif.environment.kinds.kind import ServingKind
from semif.environment.memory_need import MemoryNeed, text_need
from semif.environment.tables.endpoint import hub_file_url
from semif.models.presets import AnyPreset
from semif.sagemaker.llama_server_variables import with_defaults
from semif_adapter.contract.settings import Settings


class Text(ServingKind):
    """The published container."""

    name = "text"
    container = "the published container"
    table = "text"
    keys = ("endpoint.unlisted_flags",)
    runs_adapter = False
    answers = "it answers in words"
    forms = ("chat",)
    streams_words = True
    asks_examples = False
    transform_problem = (
        "a line that the published container refuses ends the job, and its file's answers are lost"
    )
    sizing_problem = "what it generates, and not its prompts, takes its time"

    def usage(self, command_line: str) -> str:
        """`semif ask`."""
        return f"semif ask {command_line}"

    def asking_command(self, command_line: str, _file: str) -> str:
        """`semif ask`, with a question."""
        return f'semif ask {command_line} "Which colour is the sky?"'

    def request_problem(self, request: Mapping[str, Any]) -> str | None:
        """Chat completions that come whole may be asked."""
        if "messages" not in request:
            return "has no messages: a text endpoint takes chat completions"
        if request.get("stream"):
            return "asks for a stream, and answers come whole here; leave `stream` out"
        return None

    def at_once(self, file: EnvironmentFile) -> int:
        """The slots of llama-server."""
        return int(_llama_server(file)["SM_LLAMA_CPP_PARALLEL"])

    def container_variables(self, file: EnvironmentFile, _settings: Settings, /) -> dict[str, str]:
        """llama-server's settings, bounded, and where it has the model from if it downloads one."""
        model = file.model
        source = {}
        if model.hf_repo and model.hf_file and model.revision:
            source["SM_LLAMA_CPP_MODEL_URL"] = hub_file_url(model.hf_repo, model.hf_file, model.revision)
        return source | _llama_server(file)

    def memory_need(self, preset: AnyPreset, file: EnvironmentFile, _settings: Settings, /) -> MemoryNeed:
        """What llama-server takes."""
        return text_need(preset, _llama_server(file), on_gpu=file.accelerator == "cuda")


def _llama_server(file: EnvironmentFile) -> dict[str, str]:
    return with_defaults(file.text, on_gpu=file.accelerator == "cuda")
