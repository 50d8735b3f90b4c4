"""Looking at an endpoint while CloudFormation works on it, which itself tells next to nothing for minutes."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from semif.aws.clients import Aws
from semif.aws.container_log import newest_container
from semif.errors import SemifError
from semif.target.endpoint_state import describe_endpoint

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import DescribeEndpointOutputTypeDef

_JOIN_SECONDS = 10.0


@dataclass(frozen=True)
class EndpointLook:
    """What an endpoint was like at one moment."""

    seconds: float
    """Since the watch began."""
    status: str
    failure_reason: str | None = None
    instances: int | None = None
    """In service, or coming up where a change is on its way; None where SageMaker tells none."""
    desired_instances: int | None = None
    stages: tuple[str, ...] = ()
    """What SageMaker is at with the variant, as it says it: Creating, ActivatingTraffic, Baking."""

    @property
    def summary(self) -> str:
        """In a line: `Updating, 0 of 2 instances, Creating`."""
        count = [f"{self.instances or 0} of {self.desired_instances} instances"]
        return ", ".join([self.status, *(count if self.desired_instances else []), *self.stages])


OnLook = Callable[[EndpointLook], None]
"""Is told of each look, from another thread; it must not raise."""


class EndpointWatch:
    """Looks every few seconds during its `with` block, from a thread of its own, and once more at its end.

    `on_look` is called with every look, mostly in that thread; it must not raise. The reason of a failure is
    kept when it shows: CloudFormation may take the endpoint away before it ends.
    """

    def __init__(self, aws: Aws, endpoint: str, *, poll_seconds: float, on_look: OnLook) -> None:
        self._aws, self._endpoint, self._poll_seconds, self._on_look = aws, endpoint, poll_seconds, on_look
        self._began, self._began_at = time.monotonic(), time.time()
        self._first_status: str | None = None
        self._moved = False
        self._reason: str | None = None
        self._blind: str | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        _ = self._aws.sagemaker, self._aws.logs  # making clients is not thread-safe, using them is
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        if kind is None:  # the change is done: between two looks it may have come unseen
            self._look()

    def what_went_wrong(self) -> Iterator[str]:
        """Lines for the error of a failed deployment: SageMaker's reason, the container's last lines."""
        self._end()
        self._look()
        if self._reason:
            yield f"SageMaker says: {self._reason}"
        try:
            newest = newest_container(self._aws, self._endpoint, since=self._began_at)
        except SemifError as error:
            newest, self._blind = None, str(error)
        if newest is not None:
            stream, lines = newest
            yield f"the last lines of the container {stream}:"
            yield from (f"  {line}" for line in lines)
        if self._blind is not None:
            yield f"the endpoint or its log could not be looked at: {self._blind}"

    def _end(self) -> None:
        self._stop.set()
        self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        while not self._stop.wait(self._poll_seconds):
            self._look()

    def _look(self) -> None:
        try:
            description = describe_endpoint(self._aws, self._endpoint)
        except SemifError as error:  # the deployment goes on, seen or not
            self._blind = str(error)
            return
        self._blind = None
        look = _look_at(description, time.monotonic() - self._began)
        if self._first_status is None:
            self._first_status = look.status
        self._moved = self._moved or look.status != self._first_status
        # An endpoint keeps the reason of its last failure: only after a move it is this deployment's.
        if self._moved and look.failure_reason:
            self._reason = look.failure_reason
        self._on_look(look)


def _look_at(description: "DescribeEndpointOutputTypeDef | None", seconds: float) -> EndpointLook:
    if description is None:
        return EndpointLook(seconds, "not there yet")
    status = description["EndpointStatus"]
    # During a change the fleet that comes up is listed beside the one that serves.
    variants = [
        *description.get("PendingDeploymentSummary", {}).get("ProductionVariants", []),
        *description.get("ProductionVariants", []),
    ]
    if not variants:
        return EndpointLook(seconds, status, description.get("FailureReason"))
    return EndpointLook(
        seconds,
        status,
        description.get("FailureReason"),
        variants[0].get("CurrentInstanceCount"),
        variants[0].get("DesiredInstanceCount"),
        tuple(stage["Status"] for stage in variants[0].get("VariantStatus", [])),
    )
