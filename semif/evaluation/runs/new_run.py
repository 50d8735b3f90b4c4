"""What a run begins with."""

from collections.abc import Sequence
from datetime import UTC, datetime

from semif.evaluation.runs.machine import describe_machine
from semif.evaluation.runs.run_file import Asking, Pins, PredictionsFile, RunHeader, TargetName, TaskFile
from semif.evaluation.tasks.labelled_tasks import TaskSet
from semif.evaluation.tasks.suite import Suite


def new_header(
    sets: Sequence[TaskSet],
    target: TargetName,
    pins: Pins,
    asking: Asking,
    *,
    suite: Suite | None = None,
    predictions: PredictionsFile | None = None,
) -> RunHeader:
    """The header of a run that begins now, on this machine."""
    return RunHeader(
        started=datetime.now(UTC),
        tasks=tuple(map(_task_file, sets)),
        target=target,
        pins=pins,
        machine=describe_machine(),
        asking=asking,
        predictions=predictions,
        suite=suite,
    )


def _task_file(file: TaskSet) -> TaskFile:
    from semif.evaluation.tasks.alike import looking_alike  # noqa: PLC0415 - scikit-learn takes its time to load

    return TaskFile(
        name=file.path.name,
        sha256=file.sha256,
        count=len(file.tasks),
        alike=looking_alike(file.tasks),
        table=file.table,
    )
