"""Calls as botocore knows them: requests and replies of the extended operations are checked by its models."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StringShape, StructureShape
from botocore.validate import ParamValidator

Params = dict[str, Any]
Operation = Callable[[Params], Params]


_JAVA_PATTERNS = {
    r"\uD800\uDC00-\uDBFF\uDFFF": r"\U00010000-\U0010FFFF",
    r"[\p{Print}]": r"[\x20-\x7E]",
    r"\p{Print}": r"[\x20-\x7E]",
    r"\p{ASCII}": r"[\x00-\x7F]",
    r"\p{L}\p{Z}\p{N}": r"\w\s",  # of tags, which take the underscore too
    r"\z": r"\Z",
    "(?i).*<script>.*</script>.*": "(?i:.*<script>.*</script>.*)",  # of budgets' names
}
"""What the models' patterns, which are Java's, spell in another way than Python's."""


class ApiError(Exception):
    """A refusal that the caller sees under an error code of the service, e.g. `ValidationException`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ReplyError(Exception):
    """A reply that AWS could not have given: a fault of the local AWS itself."""


@cache
def service_model(service: str) -> ServiceModel:
    """botocore's model of a service, under the client's name (`sagemaker`, `codebuild`)."""
    return botocore.session.get_session().get_service_model(service)


def call(service: str, operation: str, implementation: Operation, params: Params) -> Params:
    """Run one operation; raises ApiError for a request that the model refuses, ReplyError for a reply."""
    model = service_model(service).operation_model(operation)
    if model.input_shape is not None and (wrong := problems(model.input_shape, params)):
        code = "InvalidInputException" if service == "codebuild" else "ValidationException"
        raise ApiError(code, f"{operation}: {'; '.join(wrong)}")
    reply = implementation(params)
    check_reply(service, operation, reply)
    return reply


def check_reply(service: str, operation: str, reply: Params) -> None:
    """Raise ReplyError unless `reply` is what botocore's model says the operation returns."""
    shape = service_model(service).operation_model(operation).output_shape
    # AWS replies with empty lists also where its model says that a list has a member.
    needed = shape.required_members if shape is not None else []
    members = {name: value for name, value in reply.items() if value != [] or name in needed}
    wrong = problems(shape, members) if shape is not None else [f"{name}: unknown" for name in members]
    if wrong:
        raise ReplyError(f"{service} {operation} would reply what AWS cannot: {'; '.join(wrong)}")


def problems(shape: Shape, value: Any) -> list[str]:
    """Everything that keeps `value` from being of `shape`: types, members, enums, ranges."""
    report = ParamValidator().validate(value, shape)
    if report.has_errors():
        return str(report.generate_report()).splitlines()
    return list(_constraint_problems(shape, value, ""))


def _constraint_problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """What ParamValidator leaves out: enumerations, upper bounds and patterns."""
    if isinstance(shape, StructureShape):
        for name, member in value.items():
            yield from _constraint_problems(shape.members[name], member, f"{path}.{name}".lstrip("."))
    elif isinstance(shape, ListShape):
        yield from _range_problem(shape, len(value), path)
        for index, item in enumerate(value):
            yield from _constraint_problems(shape.member, item, f"{path}[{index}]")
    elif isinstance(shape, MapShape):
        yield from _range_problem(shape, len(value), path)
        for key, item in value.items():
            yield from _constraint_problems(shape.key, key, f"{path} (key)")
            yield from _constraint_problems(shape.value, item, f"{path}.{key}")
    elif isinstance(shape, StringShape):
        yield from _range_problem(shape, len(value), path)
        if shape.enum and value not in shape.enum:
            yield f"{path}: {value!r} is not one of {', '.join(shape.enum)}"
        pattern = shape.metadata.get("pattern", "")
        for java, python in _JAVA_PATTERNS.items():
            pattern = pattern.replace(java, python)
        if pattern and not re.fullmatch(pattern, value, re.DOTALL):
            yield f"{path}: {value!r} does not match {pattern}"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _range_problem(shape, value, path)


def _range_problem(shape: Shape, measure: float, path: str) -> Iterator[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if (low is not None and measure < low) or (high is not None and measure > high):
        yield f"{path}: {measure} is outside {low} to {high}"


def from_cloudformation(shape: Shape, value: Any, path: str = "") -> Any:
    """The API's form of a resource property: CloudFormation has its own case of names, and scalars as text.

    Raises ApiError naming the first property that the API's shape does not have.
    """
    if isinstance(shape, StructureShape) and isinstance(value, Mapping):
        names = {name.lower(): name for name in shape.members}
        converted = {}
        for key, item in value.items():
            name = names.get(key.lower())
            if name is None:
                raise ApiError(
                    "ValidationError", f"the property {path}{key} is not supported by the local AWS"
                )
            converted[name] = from_cloudformation(shape.members[name], item, f"{path}{key}.")
        return converted
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [from_cloudformation(shape.member, item, path) for item in value]
    if isinstance(shape, MapShape) and isinstance(value, Mapping):
        return {key: from_cloudformation(shape.value, item, path) for key, item in value.items()}
    return _scalar(shape.type_name, value)


def from_headers(service: str, operation: str, headers: Mapping[str, str]) -> Params:
    """The members of an operation's request that stand in headers."""
    shape = service_model(service).operation_model(operation).input_shape
    assert isinstance(shape, StructureShape), f"{operation} takes no input"
    params = {}
    for name, member in shape.members.items():
        header = member.serialization.get("name", "")
        if member.serialization.get("location") == "header" and header in headers:
            params[name] = _scalar(member.type_name, headers[header])
    return params


def _scalar(type_name: str, value: Any) -> Any:
    if type_name == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return value
    try:
        if type_name in {"integer", "long"}:
            return int(value)
        if type_name in {"float", "double"}:
            return float(value)
    except ValueError:
        return value
    return value == "true" if type_name == "boolean" and value in {"true", "false"} else value
