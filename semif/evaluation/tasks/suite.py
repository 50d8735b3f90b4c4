"""A suite: files of labelled tasks, known by their SHA-256, and what others published of them.

The tasks themselves are not here: whoever asks a suite names their own copies, and other bytes are refused.
"""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints, ValidationInfo, field_validator

from semif.errors import SemifError, shown
from semif.evaluation.tasks.labelled_tasks import TaskSet
from semif.project.toml_file import read_toml
from semif_adapter.archive.manifest import Sha256
from semif_adapter.contract.described import DescribedModel

_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Address = Annotated[str, StringConstraints(pattern=r"^https://[!-~]+$", max_length=300)]


class _SuiteModel(DescribedModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SuiteFile(_SuiteModel):
    """One of its files."""

    name: str
    tasks: Annotated[int, Field(gt=0)]
    sha256: Sha256


class PublishedRun(_SuiteModel):
    """What somebody got with the whole suite. Nothing of it was measured here."""

    by: str
    """Who, and on what."""
    prompt: str
    right: Annotated[int, Field(ge=0)]
    client_p50_seconds: _Seconds | None = None
    client_p95_seconds: _Seconds | None = None
    source: _Address
    on: date
    """The day on which it was published there, or read."""


class Suite(_SuiteModel):
    """A suite as its TOML file has it; a run keeps it in its header."""

    name: str
    """The TOML file's name without its ending."""
    description: str
    source: _Address
    """Where the tasks are published."""
    caveat: str = ""
    """What to know before anything is compared with what was published."""
    files: Annotated[tuple[SuiteFile, ...], Field(min_length=1)]
    published: tuple[PublishedRun, ...] = ()

    @property
    def tasks(self) -> int:
        """How many tasks it has."""
        return sum(file.tasks for file in self.files)

    @field_validator("published")
    @classmethod
    def _nobody_got_more(
        cls, published: tuple[PublishedRun, ...], info: ValidationInfo
    ) -> tuple[PublishedRun, ...]:
        """Told together with what is wrong with other keys, the files excepted."""
        tasks = sum(file.tasks for file in info.data.get("files", ()))
        if tasks and (more := [one.right for one in published if one.right > tasks]):
            raise ValueError(f"right is {', '.join(map(str, more))}, the files have {tasks} tasks")
        return published


def suite_names() -> tuple[str, ...]:
    """Names of the suites that come with the toolkit, sorted."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.toml")))


def load_suite(named: str) -> Suite:
    """The suite of that name, or of a TOML file at the path `named`.

    Raises SemifError where there is none, ProblemsError with all that is wrong in its file.
    """
    known = suite_names()
    path = Path(__file__).parent / f"{named}.toml" if named in known else Path(named)
    if path.suffix != ".toml" or not path.is_file():
        raise SemifError(
            f"there is no suite {shown(named)}; known are {', '.join(known)}, and the path of a TOML file"
        )
    return read_toml(path, Suite, {"name": path.stem})


def of_suite(suite: Suite, sets: Sequence[TaskSet]) -> tuple[TaskSet, ...]:
    """`sets` in the suite's order. Raises SemifError for a file that is none of its files, byte by byte."""
    places = {file.sha256: place for place, file in enumerate(suite.files)}
    for given in sets:
        if given.sha256 not in places:
            files = ", ".join(f"{file.name} ({file.sha256[:12]}…)" for file in suite.files)
            raise SemifError(
                f"{given.path} is no file of the suite {suite.name}: its SHA-256 is {given.sha256}, allowed "
                f"are {files}; take them from {suite.source}, or leave --suite out"
            )
    return tuple(sorted(sets, key=lambda given: places[given.sha256]))
