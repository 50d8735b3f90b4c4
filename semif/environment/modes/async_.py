"""Mode `async`: an endpoint with a queue, which has its requests from S3 and puts its answers there."""

from collections.abc import Iterator
from typing import Any

from semif.environment.environment_file import EnvironmentFile
from semif.environment.kinds.kind import ServingKind
from semif.environment.modes.endpoint import EndpointMode
from semif.environment.tables.raw import RawTables, number_in, table_in
from semif_adapter.contract.settings import MOST_QUEUED_TOKENS

DEADLINE_MARGIN_SECONDS = 5
"""The adapter gives a request up so long before SageMaker does, to say why; 55 of 60 seconds in realtime."""


class Async(EndpointMode):
    """A queue with S3 at both ends."""

    name = "async"
    adjective = "asynchronous"
    manner = "answers by a queue"
    table = "async"
    keys = ("scaling.backlog_per_instance", "alarms.backlog_age_seconds", "existing.files_bucket")
    derived_from = "from [async] and [adapter]"
    example = "requests"
    keeps_requests = True
    scaling_target = "backlog_per_instance"

    def asking_command(self, _kind: ServingKind, command_line: str, file: str, /) -> str:
        """`semif submit`."""
        return f"semif submit {command_line} {file}.jsonl"

    def problems(self, tables: RawTables, kind: ServingKind | None, /) -> Iterator[str]:
        """What the queue sends must have its time and its room in the container."""
        if "deadline_seconds" in table_in(tables, "adapter"):
            yield (
                "adapter.deadline_seconds follows from async.invocation_timeout_seconds where the endpoint "
                "is asynchronous; set that one"
            )
        if "data_capture" in tables:
            yield (
                "[data_capture] is for realtime endpoints; remove it: a queue has all requests and answers "
                "in its bucket already"
            )
        key = "concurrent_invocations_per_instance"
        sent = number_in(table_in(tables, "async"), key, 1)
        admitted = kind.admitted(tables) if kind is not None else None
        if admitted is not None and sent > admitted:
            yield (
                f"async.{key} = {sent}: the adapter takes {admitted} at once (adapter.max_in_flight) and "
                "refuses the rest; take less"
            )
        yield from super().problems(tables, kind)

    def derived(self, file: EnvironmentFile, kind: ServingKind, /) -> dict[str, Any]:
        """The deadline follows from the invocation timeout; what is sent at once finds room."""
        at_once = concurrent_invocations(file, kind)
        timeout = file.async_.invocation_timeout_seconds
        derived: dict[str, Any] = {"adapter.deadline_seconds": float(timeout - DEADLINE_MARGIN_SECONDS)}
        if file.async_.concurrent_invocations_per_instance is None:
            derived["async.concurrent_invocations_per_instance"] = at_once
        if "max_queued_tokens" not in file.adapter.model_fields_set:
            longest = file.adapter.max_decisions * file.adapter.context_tokens
            derived["adapter.max_queued_tokens"] = min(at_once * longest, MOST_QUEUED_TOKENS)
        return derived

    def warnings(self, file: EnvironmentFile, /) -> Iterator[str]:
        """Those of endpoints, and an age of the oldest request that is no trouble but an alarm."""
        yield from super().warnings(file)
        if file.alarms is None:
            return
        age = f"alarms.backlog_age_seconds = {file.alarms.backlog_age_seconds}"
        if file.alarms.backlog_age_seconds < file.async_.invocation_timeout_seconds:
            yield (
                f"{age}: a request may work for {file.async_.invocation_timeout_seconds} s "
                "(async.invocation_timeout_seconds), and may count as long as it does; give more"
            )
        if file.min_instance_count == 0 and file.alarms.backlog_age_seconds < file.start_seconds:
            yield (
                f"{age}: the first request of an empty endpoint waits for an instance, whose start usually "
                f"takes {file.start_seconds} s; give more"
            )


def concurrent_invocations(file: EnvironmentFile, kind: ServingKind) -> int:
    """Most requests that the queue sends to one container at once: the file's, or what keeps it busy."""
    return file.async_.concurrent_invocations_per_instance or kind.at_once(file)
