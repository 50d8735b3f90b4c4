"""Mode `realtime`: an endpoint whose callers wait for the answer."""

from collections.abc import Iterator

from semif.environment.environment_file import EnvironmentFile
from semif.environment.kinds.kind import ServingKind
from semif.environment.modes.endpoint import EndpointMode
from semif.environment.tables.endpoint import ScalingTable
from semif.environment.tables.raw import RawTables, default_of, number_in, table_in
from semif.sagemaker.container_times import INVOCATION_SECONDS

_CAPTURE_WARNING = (
    "data_capture: what callers send is kept word for word for {days} days, {percent} % of it; tell them, "
    "and mind who may read the bucket"
)


class Realtime(EndpointMode):
    """Calls that wait."""

    name = "realtime"
    adjective = "realtime"
    manner = "answers while the caller waits"
    keys = (
        "scaling.concurrent_requests_per_instance",
        "alarms.model_p95_seconds",
        "alarms.overhead_seconds",
    )
    example = "routing"
    scaling_target = "concurrent_requests_per_instance"

    def asking_command(self, kind: ServingKind, command_line: str, file: str, /) -> str:
        """The kind's own."""
        return kind.asking_command(command_line, file)

    def problems(self, tables: RawTables, kind: ServingKind | None, /) -> Iterator[str]:
        """There is no queue that [async] could set, and no caller is there any more after a minute."""
        if "async" in tables:
            yield "[async] is for asynchronous endpoints; write mode = 'async' in [endpoint], or remove it"
        if "data_capture" in tables and kind is not None and not kind.runs_adapter:
            yield (
                f"[data_capture] does not go with kind = '{kind.name}': what is captured is read as requests "
                f"to our adapter and its answers, and here {kind.container} answers; remove it"
            )
        seconds = table_in(tables, "adapter").get("deadline_seconds")
        if isinstance(seconds, int | float) and seconds >= INVOCATION_SECONDS:
            yield (
                f"adapter.deadline_seconds = {seconds:g}: SageMaker ends a request after "
                f"{INVOCATION_SECONDS} s, and the adapter must answer before that; take less, or "
                "mode = 'async' in [endpoint]"
            )
        yield from super().problems(tables, kind)

    def warnings(self, file: EnvironmentFile, /) -> Iterator[str]:
        """Those of endpoints, and that callers' texts are kept."""
        yield from super().warnings(file)
        if (capture := file.data_capture) is not None:
            yield _CAPTURE_WARNING.format(days=capture.expiry_days, percent=capture.sampling_percent)

    def scaling_problems(self, tables: RawTables, kind: ServingKind | None, /) -> Iterator[str]:
        """Scaling must begin before the container refuses."""
        yield from super().scaling_problems(tables, kind)
        key = self.scaling_target
        target = number_in(table_in(tables, "scaling"), key, default_of(ScalingTable, key))
        admitted = kind.admitted(tables) if kind is not None else None
        if admitted is not None and target > admitted:
            yield (
                f"scaling.{key} = {target}: the adapter takes {admitted} at once "
                "(adapter.max_in_flight) and refuses the rest, so that it would never get there; take less"
            )
