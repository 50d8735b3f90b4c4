"""The end of a throw-away endpoint, as its stack tells it."""

import math
from datetime import UTC, datetime

from semif.aws.expiry import EXPIRES_AT, EXPIRY_OUTPUT, expiry_after, read_expiry
from semif.aws.stacks import Stack, find_stack
from semif.environment.environment import Environment
from semif.target.target import Target


def expiry_parameters(environment: Environment) -> dict[str, str]:
    """Parameters of a deployment from now on: the new end, where the endpoint is to have one."""
    hours = environment.endpoint.expires_after_hours
    return {} if hours is None else {EXPIRES_AT: expiry_after(hours, datetime.now(UTC))}


def expiry_of(stack: Stack | None) -> datetime | None:
    """When the endpoint of `stack` is deleted, or was; None: never."""
    text = stack.outputs.get(EXPIRY_OUTPUT) if stack is not None else None
    return read_expiry(text) if text is not None else None


def deployed_expiry(target: Target) -> datetime | None:
    """The same of what is deployed."""
    return expiry_of(find_stack(target.aws, target.environment.endpoint_stack))


def is_over(expiry: datetime | None) -> bool:
    """Whether the end has come."""
    return expiry is not None and expiry <= datetime.now(UTC)


def expiry_words(expiry: datetime) -> str:
    """For people: `2026-12-01 08:00 UTC, in 5 hours`."""
    seconds = (expiry - datetime.now(UTC)).total_seconds()
    minutes = math.ceil(abs(seconds) / 60)
    count = f"{round(minutes / 60)} hours" if minutes > 120 else f"{minutes} minutes"
    return f"{expiry:%Y-%m-%d %H:%M} UTC, {f'in {count}' if seconds > 0 else f'{count} ago'}"
