"""How an endpoint moves to another configuration: the rules that environment files and constructs share.

SageMaker calls it deployment guardrails ("Deployment guardrails for updating models in production", developer
guide). They are for realtime and asynchronous endpoints, on one instance type or a pool; what they exclude
(Marketplace containers, Inf1, and for rolling serverless and several variants: page "Exclusions") is not to
be had here.
"""

import math
from collections.abc import Iterator
from typing import Literal

Strategy = Literal["all-at-once", "canary", "linear", "rolling"]
"""all-at-once, canary and linear start a second fleet (blue/green); rolling replaces a batch at a time."""

ALARM_SECONDS = 300
"""The alarms on requests look at this long: a shorter wait would end before a bad change could be seen."""
ROLLBACK_ALARMS = ("allowed-token-mass", "container-errors", "model-latency", "platform-errors", "refusals")
"""The alarms that an update goes back on, by the ends of their names, which begin with the endpoint's: those
that a new model, image or placement can trip. An endpoint has those that go with its kind and mode."""
MAX_WAIT_SECONDS = 3600
MIN_EXECUTION_SECONDS, MAX_EXECUTION_SECONDS = 600, 28_800
"""Bounds of SageMaker's `WaitIntervalInSeconds` and `MaximumExecutionTimeoutInSeconds` (API reference,
BlueGreenUpdatePolicy and RollingUpdatePolicy; botocore 1.44.8 has the same, which a test compares)."""

_LEAST_PERCENT = {"canary": 10, "linear": 10, "rolling": 5}
_MOST_PERCENT = 50
"""SageMaker: a canary up to 50, linear steps 10 to 50, rolling batches 5 to 50 percent of the instances."""


def step_percent(strategy: Strategy, instance_count: int) -> int:
    """The share of the instances that is moved in one step: one instance, or the least that is allowed.

    `instance_count` is the fewest instances that the variant has. Raises KeyError for all-at-once, which has
    no steps.
    """
    return min(max(_LEAST_PERCENT[strategy], math.ceil(100 / instance_count)), _MOST_PERCENT)


def waits(strategy: Strategy, instance_count: int) -> int:
    """How often an update waits, which SageMaker counts into its limit.

    A second fleet's last wait is the one before the old fleet is ended. All at once has two as well: its
    limit "should be larger than the total waiting time specified in TerminationWaitInSeconds and
    WaitIntervalInSeconds", and both are set (API reference, BlueGreenUpdatePolicy, as botocore 1.44.8 has it;
    read 2026-12-01).
    """
    if strategy in ("all-at-once", "canary"):
        return 2
    steps = math.ceil(100 / step_percent(strategy, instance_count))
    return steps + 1 if strategy == "linear" else steps


def execution_seconds(
    strategy: Strategy, instance_count: int, *, longest_start_seconds: int, wait_seconds: int
) -> int:
    """The time limit for an update: its waits, and the longest start of its fleet, or of each batch.

    A shorter limit would take the update back just when an instance is hard to get. It may be more than
    SageMaker allows: `execution_problems`.
    """
    number = waits(strategy, instance_count)
    starts = number if strategy == "rolling" else 1
    return max(number * wait_seconds + starts * longest_start_seconds, MIN_EXECUTION_SECONDS)


def execution_problems(
    strategy: Strategy, instance_count: int, *, longest_start_seconds: int, wait_seconds: int
) -> Iterator[str]:
    """A line where an update may take longer than SageMaker lets one."""
    seconds = execution_seconds(
        strategy, instance_count, longest_start_seconds=longest_start_seconds, wait_seconds=wait_seconds
    )
    if seconds > MAX_EXECUTION_SECONDS:
        number = waits(strategy, instance_count)
        starts = f"{number} starts" if strategy == "rolling" and number > 1 else "a start"
        waited = f"{number} waits" if number > 1 else "a wait"
        yield (
            f"strategy = {strategy!r} may take {seconds:,} s, {waited} of {wait_seconds:,} s and {starts} of "
            f"up to {longest_start_seconds:,} s (capacity, download, container); SageMaker ends an update "
            f"after {MAX_EXECUTION_SECONDS:,} s: wait less, give starts less time, or take another strategy"
        )


def extra_instances(strategy: Strategy, instance_count: int, *, fewest: int) -> int:
    """How many instances an update starts beside the `instance_count` that run, before it takes any away.

    Blue/green starts a whole second fleet, rolling a batch ("Blue/Green Deployments" and "Use rolling
    deployments", SageMaker developer guide, read 2026-11-30): all of them need quota. `fewest` is the fewest
    instances that the variant has, from which the batch's share is taken.
    """
    if strategy != "rolling":
        return instance_count
    return max(1, math.ceil(instance_count * step_percent(strategy, fewest) / 100))


def update_problems(*, instance_count: int, strategy: Strategy, wait_seconds: int) -> Iterator[str]:
    """What is wrong with a strategy, one line for each problem.

    `instance_count` is the fewest instances that the variant has: one cannot be halved ("CanarySize",
    "LinearStepSize" and "MaximumBatchSize" of SageMaker's API reference are 50 percent at most).
    """
    if strategy != "all-at-once" and instance_count < 2:
        yield (
            f"strategy = {strategy!r} moves up to half of the instances at once, so it needs at least 2, and "
            f"the variant may have {instance_count}; keep more, or use 'all-at-once'"
        )
    if not ALARM_SECONDS <= wait_seconds <= MAX_WAIT_SECONDS:
        yield (
            f"wait_seconds = {wait_seconds}: allowed are {ALARM_SECONDS}, which the alarms look at, to "
            f"{MAX_WAIT_SECONDS}"
        )
