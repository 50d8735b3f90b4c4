"""Which environments a right is for, and resources that several rights are on."""

from collections.abc import Callable

from semif.environment.environment import Environment
from semif.rights.place import Place


def everything(_: Place) -> tuple[str, ...]:
    """For actions that know no resources, or whose resources have names that CloudFormation chooses."""
    return ("*",)


def key_of(environment: Environment) -> tuple[str, ...]:
    """The ARN of the key of `[encryption]`, where it has one."""
    return (environment.encryption.kms_key_arn,) if environment.encryption is not None else ()


def is_built(environment: Environment) -> bool:
    """Whether builds make its model; one from a hub is downloaded by its container."""
    return environment.preset is not None


def has_image(environment: Environment) -> bool:
    """Whether builds make an image for it."""
    return is_built(environment) and environment.serving_kind.runs_adapter


def has_endpoint(environment: Environment) -> bool:
    """Whether it is an endpoint that is deployed, and not a Model for jobs alone."""
    return environment.inference_mode.has_endpoint


def in_mode(*modes: str) -> Callable[[Environment], bool]:
    """Of environments in one of `modes`."""
    return lambda environment: environment.endpoint.mode in modes
