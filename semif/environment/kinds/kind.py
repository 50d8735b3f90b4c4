"""What all kinds have: everything about what answers in an environment that needs no AWS to be known."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from semif.environment.environment_file import EnvironmentFile
from semif.environment.memory_need import MemoryNeed
from semif.environment.tables.raw import RawTables
from semif.images.base_images import Container
from semif.models.presets import AnyPreset, preset_names
from semif.sagemaker.instances import Accelerator
from semif_adapter.contract.settings import Settings


class ServingKind(ABC):
    """What answers in an environment. How its endpoint is asked first is in semif/deployment/kinds."""

    name: ClassVar[str]
    """What `kind` says in the file."""
    container: ClassVar[str]
    """What runs, in messages: `our adapter`."""
    table: ClassVar[str]
    """The table of the file that sets the container."""
    keys: ClassVar[tuple[str, ...]] = ()
    """Keys of other tables that say nothing about the kinds which do not have them too."""
    runs_adapter: ClassVar[bool]
    """Whether the container is our adapter, in an image that is built, or the published one as it is."""
    answers: ClassVar[str]
    """What its answers are, in messages: `it answers in words`."""
    forms: ClassVar[tuple[str, ...]]
    """Forms of request that an evaluation may take (`--as`), the usual one first."""
    queues: ClassVar[bool] = False
    """Whether its container lets requests wait, as many as come, in place of refusing them in time."""
    streams_words: ClassVar[bool] = False
    """Whether its answers may come word by word."""
    asks_examples: ClassVar[bool]
    """Whether the requests in examples/ are for it."""
    no_preset: ClassVar[str] = ""
    """What is said beside a preset that is not known: how one is made."""
    hub_problem: ClassVar[str | None] = None
    """What is wrong with a model that the container downloads itself; None: nothing is."""
    transform_problem: ClassVar[str | None] = None
    """Why transform jobs must not ask it; None: they may."""
    sizing_problem: ClassVar[str | None] = None
    """Why the adapter's token rate does not tell how many instances it needs; None: it does."""

    @abstractmethod
    def usage(self, command_line: str) -> str:
        """The command that asks a realtime endpoint of it, as its help has it."""

    @abstractmethod
    def asking_command(self, command_line: str, file: str) -> str:
        """The same as it can be typed, with a request in `file` (without its ending) where it takes one."""

    @abstractmethod
    def request_problem(self, request: Mapping[str, Any]) -> str | None:
        """What keeps a request, parsed from JSON, from being asked by a queue; None where nothing does."""

    def preset_names(self) -> tuple[str, ...]:
        """The presets that it serves."""
        return preset_names()

    def base_container(self, accelerator: Accelerator) -> Container:
        """The entry of adapter_image/dlc.toml that it runs, or that its image extends."""
        return accelerator

    def admitted(self, _tables: RawTables, /) -> int | float | None:
        """How many requests its container takes at once, refusing the rest; None: as many as come."""
        return None

    def endpoint_problems(self, _tables: RawTables, /) -> Iterator[str]:
        """What of the raw tables does not go with an endpoint of it, one line for each problem."""
        return iter(())

    @abstractmethod
    def at_once(self, file: EnvironmentFile) -> int:
        """How many prompts the container keeps: so many requests keep it busy, and none waits long."""

    @abstractmethod
    def container_variables(self, file: EnvironmentFile, settings: Settings, /) -> dict[str, str]:
        """The container's environment; `settings` are the adapter's, as the mode has them."""

    @abstractmethod
    def memory_need(self, preset: AnyPreset, file: EnvironmentFile, settings: Settings, /) -> MemoryNeed:
        """What the model and its server take, estimated; `settings` as above."""
