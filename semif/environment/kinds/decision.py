"""Kind `decision`: our adapter, which answers with the probability of each option."""

from collections.abc import Iterator, Mapping
from typing import Any

from semif.environment.environment_file import EnvironmentFile
from semif.environment.kinds.kind import ServingKind
from semif.environment.memory_need import MemoryNeed, decision_need
from semif.environment.tables.raw import RawTables, default_of, number_in, table_in
from semif.models.presets import AnyPreset
from semif_adapter.contract.settings import Settings


class Decision(ServingKind):
    """Our adapter, in an image of its own."""

    name = "decision"
    container = "our adapter"
    table = "adapter"
    keys = ("alarms.refusal_percent", "alarms.min_allowed_token_mass")
    runs_adapter = True
    answers = "it answers with probabilities"
    forms = ("decision", "system-one")
    asks_examples = True
    hub_problem = "model.hf_repo goes with kind = 'text' only: our adapter serves what a preset pins"

    def usage(self, command_line: str) -> str:
        """`semif decide`."""
        return f"semif decide {command_line} FILE"

    def asking_command(self, command_line: str, file: str) -> str:
        """`semif decide`, with a file."""
        return f"semif decide {command_line} {file}.json"

    def request_problem(self, request: Mapping[str, Any]) -> str | None:
        """Every form of a decision may be asked."""
        if "messages" in request:
            return "asks for a chat completion, which a decision endpoint does not give"
        return None

    def admitted(self, tables: RawTables, /) -> int | float | None:
        """What the adapter admits; a number as the file has it, which may be none that is allowed."""
        most: int | float = number_in(
            table_in(tables, "adapter"), "max_in_flight", default_of(Settings, "max_in_flight")
        )
        return most

    def endpoint_problems(self, tables: RawTables, /) -> Iterator[str]:
        """Its alarms are on the adapter's figures."""
        if "alarms" in tables and table_in(tables, "adapter").get("metrics") == "off":
            yield (
                "alarms: adapter.metrics = 'off' leaves them without the adapter's figures; "
                "remove one of them"
            )

    def at_once(self, file: EnvironmentFile) -> int:
        """Its streams, as far as it admits requests for them."""
        return min(file.adapter.streams, file.adapter.max_in_flight)

    def container_variables(self, _file: EnvironmentFile, settings: Settings, /) -> dict[str, str]:
        """The adapter's settings."""
        return settings.to_env()

    def memory_need(self, preset: AnyPreset, _file: EnvironmentFile, settings: Settings, /) -> MemoryNeed:
        """What the adapter takes."""
        return decision_need(preset, settings)
