"""What all modes have: everything about how an environment is asked that needs no AWS to be known."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from semif.environment.environment_file import EnvironmentFile
from semif.environment.kinds.kind import ServingKind
from semif.environment.tables.raw import RawTables


class InferenceMode(ABC):
    """How an environment is asked. Its calls of AWS are in semif/deployment/modes, its stack in cdk_app."""

    name: ClassVar[str]
    """What `endpoint.mode` says in the file."""
    adjective: ClassVar[str]
    """Of its endpoints, in messages: `asynchronous`."""
    manner: ClassVar[str]
    """How it answers, in messages: `answers by a queue`."""
    has_endpoint: ClassVar[bool]
    """Whether it has an endpoint, with instances and a log of its own; else they come and go with jobs."""
    quota: ClassVar[str]
    """What Service Quotas counts its instances for: `endpoint` usage."""
    table: ClassVar[str | None] = None
    """The table of the file that it alone has."""
    keys: ClassVar[tuple[str, ...]] = ()
    """Keys of other tables that say nothing about the modes which do not have them too."""
    keys_not_taken: ClassVar[frozenset[str]] = frozenset()
    """Keys that it refuses though they say something about all other modes."""
    derived_from: ClassVar[str] = ""
    """Where people are told that the settings of `derived` are from."""
    example: ClassVar[str | None] = None
    """The file of examples/ to ask it first, without its ending; None: there is none."""
    sizing_problem: ClassVar[str | None] = None
    """Why a rate of requests does not tell how many instances it needs; None: it does."""

    @abstractmethod
    def ready(self, endpoint_name: str) -> str:
        """What is said when it is deployed, before the command that asks it."""

    @abstractmethod
    def asking_command(self, kind: ServingKind, command_line: str, file: str, /) -> str:
        """The command that asks it, with requests in `file` (without its ending) where it takes them."""

    @abstractmethod
    def placement_problems(self, tables: RawTables, /) -> Iterator[str]:
        """What is wrong with where the raw tables place it, one line for each problem."""

    @abstractmethod
    def problems(self, tables: RawTables, kind: ServingKind | None, /) -> Iterator[str]:
        """What else of the raw tables does not go with it; `kind` is None where the file names none."""

    def start_problems(self, _file: EnvironmentFile, /) -> Iterator[str]:
        """What is wrong with the times of a file whose tables are right, one line for each problem."""
        return iter(())

    def derived(self, _file: EnvironmentFile, _kind: ServingKind, /) -> dict[str, Any]:
        """Keys, by their paths (`adapter.deadline_seconds`), whose values the mode derives from others.

        Those that the file may set itself are left out where it does.
        """
        return {}

    def warnings(self, _file: EnvironmentFile, /) -> Iterator[str]:
        """What is no mistake, but not what the file may lead to expect."""
        return iter(())
