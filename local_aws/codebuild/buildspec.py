"""The part of CodeBuild's buildspec 0.2 that runs here; whatever else one asks for is refused by name.

Format: https://docs.aws.amazon.com/codebuild/latest/userguide/build-spec-ref.html
"""

from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

PhaseName = Literal["install", "pre_build", "build", "post_build"]
PHASES: tuple[PhaseName, ...] = ("install", "pre_build", "build", "post_build")


class BuildspecError(Exception):
    """The buildspec cannot be run here; the message names every problem."""


def _text(value: object) -> object:
    """YAML reads `1` or `true` as a number or a truth; a command or a variable is text all the same."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


_Text = Annotated[str, BeforeValidator(_text)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Phase(_Strict):
    """Commands of one phase, and those that run afterwards whether they passed or not."""

    commands: tuple[_Text, ...] = ()
    finally_: Annotated[tuple[_Text, ...], Field(alias="finally")] = ()
    on_failure: Annotated[Literal["ABORT", "CONTINUE"] | None, Field(alias="on-failure")] = None
    runtime_versions: Annotated[dict[str, _Text], Field(alias="runtime-versions")] = {}
    """What to preinstall. Here every build uses the interpreter of the local AWS."""


class BuildEnvironment(_Strict):
    """Variables of the build and which of them to export at its end."""

    shell: Literal["bash", "/bin/sh"] = "/bin/sh"
    variables: dict[str, _Text] = {}
    exported_variables: Annotated[tuple[str, ...], Field(alias="exported-variables")] = ()


class Buildspec(_Strict):
    """A whole buildspec."""

    version: Literal["0.2"]
    env: BuildEnvironment = BuildEnvironment()
    phases: dict[PhaseName, Phase]


def parse_buildspec(text: str) -> Buildspec:
    """Read a buildspec; raises BuildspecError with all problems in one line."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BuildspecError(f"the buildspec is not YAML: {' '.join(str(error).split())}") from error
    if isinstance(document, dict) and isinstance(document.get("version"), float):
        document["version"] = str(document["version"])
    try:
        return Buildspec.model_validate(document)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg'].lower()}" for one in error.errors()]
        raise BuildspecError(f"the local AWS cannot run this buildspec: {'; '.join(lines)}") from error
