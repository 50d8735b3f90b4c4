"""A mode and a kind that this file alone knows: registered, they say how they are checked and asked."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from semif.aws.clients import Aws
from semif.aws.container_log import ContainerLog
from semif.client.chat import Completion
from semif.deployment.first_answer import first_answer
from semif.deployment.kinds import DEPLOYED_KINDS
from semif.deployment.kinds.text import DeployedText
from semif.deployment.modes import DEPLOYED_MODES
from semif.deployment.modes.mode import DeployedMode, Running
from semif.environment.asking import asking_command, example_command, require_kind, require_mode
from semif.environment.environment import Environment
from semif.environment.kinds import KINDS
from semif.environment.kinds.text import Text
from semif.environment.modes import MODES
from semif.environment.modes.realtime import Realtime
from semif.environment.schema import environment_schema
from semif.errors import ProblemsError, SemifError
from semif.target.target import Target

EnvironmentOf = Callable[..., Environment]

FILE = """
kind = "{kind}"
removal = "destroy"
[model]
preset = "embedded"
[endpoint]
mode = "{mode}"
instance_type = "ml.c6i.4xlarge"
"""


class Pigeon(Realtime):
    """A mode that is asked by pigeons, which carry no archives of files."""

    name = "pigeon"
    adjective = "feathered"
    manner = "answers when the pigeon is back"
    keys = ("alarms.overhead_seconds",)
    example = "requests"

    def asking_command(self, kind: Any, command_line: str, file: str, /) -> str:
        return f"semif fly {command_line} {file}.txt"

    def problems(self, tables: Any, kind: Any, /) -> Iterator[str]:
        if tables["model"].get("format") == "prefix":
            yield "model.format = 'prefix' is too heavy for a pigeon"
        yield from super().problems(tables, kind)

    def derived(self, file: Any, kind: Any, /) -> dict[str, Any]:
        return {"adapter.deadline_seconds": 55.5}

    def warnings(self, file: Any, /) -> Iterator[str]:
        yield "there are hawks"


class Oracle(Text):
    """A kind that answers in riddles: the published container, with alarms of its own."""

    name = "oracle"
    answers = "it answers in riddles"
    keys = ("alarms.refusal_percent",)

    def usage(self, command_line: str) -> str:
        return f"semif consult {command_line}"

    def asking_command(self, command_line: str, file: str) -> str:
        return f"semif consult {command_line} {file}.txt"


class DeployedPigeon(DeployedMode):
    """Sends a pigeon with the kind's first question."""

    def deploy(self, *_: object) -> None:
        raise NotImplementedError

    def first_answer(self, target: Target) -> Any:
        return DEPLOYED_KINDS[target.environment.kind].read("pigeon", b"coo")

    def running(self, *_: object) -> Running:
        raise NotImplementedError

    def log(self, *_: object) -> ContainerLog:
        raise NotImplementedError

    def end(self, *_: object) -> None:
        raise NotImplementedError


class DeployedOracle(DeployedText):
    """Whose first answer is what it was sent."""

    def ask(self, target: Target) -> Completion:
        return self.read(target.environment.endpoint_name, b"hm")

    def read(self, endpoint: str, reply: bytes) -> Completion:
        return Completion(text=f"{endpoint} says {reply.decode()}", raw=reply)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are registered, for one test."""
    monkeypatch.setitem(MODES, "pigeon", Pigeon())
    monkeypatch.setitem(KINDS, "oracle", Oracle())
    monkeypatch.setitem(DEPLOYED_MODES, "pigeon", DeployedPigeon())
    monkeypatch.setitem(DEPLOYED_KINDS, "oracle", DeployedOracle())


def said_first(environment: Environment) -> object:
    aws = Aws(region="us-east-1", endpoint_url="http://127.0.0.1:9")
    target = Target(Path(), environment, aws, "111122223333", Path("unused"), local=False, poll_seconds=0)
    answer = first_answer(target)
    assert isinstance(answer, Completion)
    return answer.text


def test_a_files_keys_are_checked_as_the_mode_has_it(environment_of: EnvironmentOf) -> None:
    text = FILE.format(kind="decision", mode="pigeon")
    environment = environment_of(text + "[alarms]\noverhead_seconds = 3.0")
    assert environment.settings.deadline_seconds == 55.5
    assert "there are hawks" in environment.warnings
    with pytest.raises(ProblemsError) as caught:
        environment_of(
            text.replace('"embedded"', '"embedded"\nformat = "prefix"') + "[alarms]\nmodel_p95_seconds = 3.0"
        )
    assert caught.value.problems == (
        "alarms.model_p95_seconds is for realtime endpoints only; remove it",
        "model.format = 'prefix' is too heavy for a pigeon",
    )


def test_a_key_of_several_modes_names_them_all(environment_of: EnvironmentOf) -> None:
    text = FILE.format(kind="decision", mode="async") + "[alarms]\noverhead_seconds = 3.0"
    with pytest.raises(ProblemsError, match="is for realtime or feathered endpoints only"):
        environment_of(text)


def test_a_files_keys_are_checked_as_the_kind_has_it(environment_of: EnvironmentOf) -> None:
    text = FILE.format(kind="oracle", mode="realtime")
    environment_of(text + "[alarms]\nrefusal_percent = 3.0")
    with pytest.raises(ProblemsError) as caught:
        environment_of(text + "[adapter]\n[alarms]\nmin_allowed_token_mass = 0.5")
    assert caught.value.problems == (
        "[adapter] does not go with kind = 'oracle': the published container is set with [text]",
        "alarms.min_allowed_token_mass is for decision endpoints only; remove it",
    )


def test_the_names_that_are_known_are_those_that_are_registered(environment_of: EnvironmentOf) -> None:
    with pytest.raises(ProblemsError) as caught:
        environment_of(FILE.format(kind="poem", mode="Pigeon"))
    assert caught.value.problems == (
        "kind = 'poem': must be 'decision', 'text', 'decider' or 'oracle'",
        "endpoint.mode = 'Pigeon': must be 'realtime', 'async', 'batch' or 'pigeon'",
    )
    properties = environment_schema()["properties"]
    assert properties["kind"]["enum"][-1] == "oracle"
    assert properties["endpoint"]["properties"]["mode"]["enum"][-1] == "pigeon"


def test_the_command_that_asks_is_the_modes_or_the_kinds(environment_of: EnvironmentOf) -> None:
    pigeon = environment_of(FILE.format(kind="decision", mode="pigeon"), name="loft")
    assert asking_command(pigeon, "loft --local") == "semif fly loft --local FILE.txt"
    assert example_command(pigeon, "loft") == "semif fly loft examples/requests.txt"
    with pytest.raises(SemifError) as caught:
        require_mode(pigeon, "realtime")
    assert str(caught.value) == (
        "loft answers when the pigeon is back (endpoint.mode = 'pigeon'): use `semif fly loft FILE.txt`, or "
        "an environment with endpoint.mode = 'realtime'"
    )
    oracle = environment_of(FILE.format(kind="oracle", mode="realtime"), name="delphi")
    assert asking_command(oracle, "delphi") == "semif consult delphi FILE.txt"
    with pytest.raises(SemifError) as caught:
        require_kind(oracle, "decision")
    assert str(caught.value) == (
        "delphi is of kind 'oracle': it answers in riddles; use `semif consult delphi`, or ask an "
        "environment of kind 'decision'"
    )


def test_the_first_answer_is_the_modes_and_the_kinds(environment_of: EnvironmentOf) -> None:
    by_pigeon = environment_of(FILE.format(kind="oracle", mode="pigeon"), name="delphi")
    assert said_first(by_pigeon) == "pigeon says coo"
    at_once = environment_of(FILE.format(kind="oracle", mode="realtime"), name="delphi")
    assert said_first(at_once) == "semif-delphi says hm"


def test_every_mode_and_kind_can_be_deployed() -> None:
    assert MODES.keys() == DEPLOYED_MODES.keys()
    assert KINDS.keys() == DEPLOYED_KINDS.keys()
