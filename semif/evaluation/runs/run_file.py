"""A run file: what one evaluation asked and got, as JSON Lines.

The first line is the header, each further line one answer, written as it comes: a run that was stopped is a
valid file. A last line without its end is an answer whose writing was cut off; it counts as not given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, ValidationError, model_validator
from pydantic_core import from_json

from semif.errors import MAX_TOLD, ProblemsError, SemifError
from semif.evaluation.tasks.asked_table import AskedTable
from semif.evaluation.tasks.rows import is_table
from semif.evaluation.tasks.suite import Suite
from semif.project.whole_files import read_whole
from semif_adapter.archive.manifest import Sha256
from semif_adapter.contract.wire import ModelInfo, QuestionKind, WireModel

TargetKind = Literal["endpoint", "adapter", "system-one", "chat", "baseline", "predictions"]
"""`baseline`: nobody was asked, a classifier was trained on the labels. `predictions`: a file has them."""
MAX_FILE_BYTES = 1 << 30
"""Of a run: it holds every reply whole."""
Status = Literal["answered", "unparsable", "refused", "failed"]
"""`unparsable`: words that name no option. `refused`: overloaded or throttled to the last attempt."""


class TaskFile(WireModel):
    """A file of tasks; `count` is how many it holds."""

    name: str
    sha256: Sha256
    count: int
    alike: int = 0
    """How many look like variants of others that they share no group with; see `looking_alike`."""
    table: AskedTable | None = None
    """None of a file of tasks."""


class PredictionsFile(WireModel):
    """Where imported predictions are from."""

    name: str
    sha256: Sha256
    predicted: str
    """The column of the options predicted."""
    probabilities: str | None
    """What the columns of the probabilities are named by; None where there are none."""
    confidence: str | None = None
    """The column of the choices' probabilities, where those of the other options are not known."""


class TargetName(WireModel):
    """Who was asked: the kind, and the endpoint's name or the URL."""

    kind: TargetKind
    name: str


class Pins(WireModel):
    """What answered, as far as lock and replies tell."""

    model_name: str | None = None
    model: ModelInfo | None = None
    """Of the adapter's replies."""
    prompt_version: str | None = None
    """Of the adapter's replies in the decision form."""
    calibration: str | None = None
    """SHA-256 of the file by which the replies' probabilities are calibrated; None where they are not."""
    request: Sha256 | None = None
    """Of body and answer's place, where a chat was asked in another way than ours."""
    image: str | None = None
    """`repo@sha256:...` of the environment's lock."""
    model_data: str | None = None
    """Where the endpoint has its model from, by the lock: the address names the model's hash or commit."""


class Machine(WireModel):
    """Where the questions were asked from, when the run began."""

    cpu: str
    cpus: int
    """How many this process may use."""
    load_average: tuple[float, float, float]
    """Over 1, 5 and 15 minutes."""
    system: str
    python: str
    semif: str
    """The toolkit's version."""
    commit: str = "unknown"
    """Of the checkout, with a mark where files differ from it."""


class Asking(WireModel):
    """How it was asked: at a `rate` of arrivals per second, or by `concurrency` callers that each wait."""

    concurrency: int = 1
    rate: float | None = None
    orders: int = 0
    """In how many further orders of its options each task was asked."""
    seed: int = 0
    limit: int | None = None
    """How many tasks were taken from the beginning; None for all."""


class RunHeader(WireModel):
    """The first line of a run file."""

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    started: datetime
    tasks: tuple[TaskFile, ...]
    target: TargetName
    pins: Pins
    machine: Machine
    asking: Asking
    predictions: PredictionsFile | None = None
    """None where somebody was asked."""
    suite: Suite | None = None
    """What all tasks are of, where they were asked as a suite."""


class AnswerFault(WireModel):
    """Why there is no answer: the server's code and HTTP status, or one of ours without a status."""

    code: str
    status: int | None = None
    message: str | None = None


_Fraction = Annotated[float, Field(ge=0, le=1)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]


class Record(WireModel):
    """One task in one order of its options, and what came of it. Times are seconds."""

    task: str
    family: str | None
    kind: QuestionKind | None
    group: str | None
    order: _Count
    """0 as written, others are permutations of the options."""
    option_ids: Annotated[tuple[str, ...], Field(min_length=1)]
    """In the order asked, as are `probabilities` and `option_logits`."""
    expected: str
    question_sha256: Sha256 | None = None
    """Of the question's text, as `wording_of` has it; None in runs of earlier versions, as is the next."""
    options_sha256: Sha256 | None = None
    slices: dict[str, str] | None = None
    """What else the figures are broken down by: the values of a table's columns, by their names."""
    status: Status
    choice: str | None = None
    probabilities: tuple[_Fraction, ...] | None = None
    confidence: _Fraction | None = None
    """Probability of the choice, where it alone is known and `probabilities` are not."""
    option_logits: tuple[_Number, ...] | None = None
    allowed_token_mass: _Fraction | None = None
    input_tokens: _Count | None = None
    cached_tokens: _Count | None = None
    asked: datetime
    """When its first attempt began; at a rate, when it was planned to."""
    client_seconds: _Seconds
    """From `asked` to the end, retries and their pauses included."""
    output_tokens: _Count | None = None
    """What was written, where an answer is words."""
    server_seconds: _Seconds | None = None
    queue_seconds: _Seconds | None = None
    """At a rate: how long after its planned arrival it was sent, because every connection was taken."""
    attempts: int = 1
    refusals: _Count = 0
    """How many attempts were answered with overload or throttling."""
    error: AnswerFault | None = None
    raw: JsonValue = None
    """The reply itself; its text where it was no JSON."""

    @property
    def choice_probability(self) -> float | None:
        """Of the choice; None without an answer or where it is not told."""
        if self.choice is None or self.probabilities is None:
            return self.confidence
        return self.probabilities[self.option_ids.index(self.choice)]

    @property
    def cluster(self) -> str:
        """What counts together: the group's tasks, or the task alone."""
        return f"task {self.task}" if self.group is None else f"group {self.group}"

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        """Whoever counts may rely on it."""
        if self.expected not in self.option_ids:
            raise ValueError("expected is none of option_ids")
        if self.choice is not None and self.choice not in self.option_ids:
            raise ValueError("choice is none of option_ids")
        if (self.status == "answered") != (self.choice is not None):
            raise ValueError("there must be a choice where status is 'answered', and none elsewhere")
        if self.confidence is not None and (self.choice is None or self.probabilities is not None):
            raise ValueError("confidence must stand beside a choice without probabilities")
        for name, numbers in (("probabilities", self.probabilities), ("option_logits", self.option_logits)):
            if numbers is not None and len(numbers) != len(self.option_ids):
                raise ValueError(f"{name} must have one number for each of option_ids")
        return self


@dataclass(frozen=True)
class EvaluationRun:
    """A run file, read."""

    path: Path
    header: RunHeader
    records: tuple[Record, ...]


def header_line(header: RunHeader) -> str:
    """The first line of a run file, with its end."""
    return header.model_dump_json(by_alias=True) + "\n"


def record_line(record: Record) -> str:
    """A further line, with its end; what has its default is left out."""
    return record.model_dump_json(exclude_defaults=True) + "\n"


def read_run(path: Path) -> EvaluationRun:
    """A run file without its last line, if that was cut off.

    Raises SemifError where it cannot be read or is none, ProblemsError with the lines that are wrong.
    """
    content = read_whole(path, MAX_FILE_BYTES)
    first, *lines = content.split(b"\n")[:-1] or [b""]
    try:
        header = RunHeader.model_validate_json(first)
    except ValidationError as error:
        if _is_task(content.partition(b"\n")[0]):
            raise SemifError(
                f"{path} is no run file, it looks like a file of tasks: line 1 has `expected`; ask them by "
                "`semif evaluate run`, and give the file that it writes"
            ) from None
        if is_table(path):
            raise SemifError(
                f"{path} is no run file but a table; `semif evaluate import` makes a run of predictions, "
                "`semif evaluate run` asks labelled rows"
            ) from None
        raise SemifError(f"{path} is no run file of this version: line 1: {_first(error)}") from None
    records: list[Record] = []
    problems: list[str] = []
    seen: dict[tuple[str, int], int] = {}
    for number, line in enumerate(lines, 2):
        try:
            record = Record.model_validate_json(line)
        except ValidationError as error:
            problems.append(f"line {number}: {_first(error)}")
            continue
        earlier = seen.setdefault((record.task, record.order), number)
        if earlier != number:
            problems.append(f"line {number}: line {earlier} has the same task in the same order")
        records.append(record)
    if problems:
        raise ProblemsError(path, problems, told=MAX_TOLD)
    return EvaluationRun(path, header, tuple(records))


def _is_task(line: bytes) -> bool:
    """Whether a line looks like a labelled task; answers have `expected`, too, and `option_ids`."""
    try:
        row = from_json(line)
    except ValueError:
        return False
    return isinstance(row, dict) and "expected" in row and "option_ids" not in row


def keep_runs(runs: Sequence[Path], *outputs: Path | None) -> None:
    """A run may have taken hours: raises SemifError where something else would be written over it."""
    for output in outputs:
        if output is not None and any(output.resolve() == run.resolve() for run in runs):
            raise SemifError(f"{output} is the run itself: name another file to write")


def _first(error: ValidationError) -> str:
    """The first problem, without the value: a reply may hold anything."""
    details = error.errors(include_url=False, include_input=False)[0]
    if details["type"] == "extra_forbidden":
        return "it has a key that no run file has"
    if details["type"] == "json_invalid":
        return "it is not JSON"
    message = details["msg"].removeprefix("Value error, ")
    return f"{'.'.join(map(str, details['loc'])) or 'it'}: {message[0].lower()}{message[1:]}"
