"""CloudFormation's stacks: resource types, change sets in the background, templates by their address."""
# Replacing methods is what this room is for, and mypy forbids it under each of these names:
# mypy: disable-error-code="method-assign, assignment, attr-defined, arg-type"

import functools
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlparse

import moto.cloudformation.models as cloudformation_models
import moto.cloudformation.responses as cloudformation_responses
from moto.cloudformation import parsing
from moto.cloudformation.exceptions import AlreadyExistsException, CloudFormationError, ValidationError
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Stack
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult
from moto.s3.models import s3_backends

from local_aws.cloudformation import changes
from local_aws.cloudformation.resource_types import Resource
from local_aws.cloudformation.stack_events import request_token
from local_aws.cloudformation.updates import given_parameters


def know_resources(classes: Mapping[str, type[Resource]]) -> None:
    """Add resource types, and refuse those that nobody knows: moto passes over them with a warning."""
    known = {**parsing.get_model_map(), **classes}
    del known["AWS::CloudFormation::Stack"]  # a nested stack runs in the background, and nobody would wait

    def resource_class(resource_type: str) -> Any:
        if resource_type not in known:
            raise ValidationError(message=_unknown([resource_type]))
        return known[resource_type]

    def name_property(resource_type: str) -> str | None:
        name: str | None = known[resource_type].cloudformation_name_type() if resource_type in known else None
        return name

    made_up_name = parsing.generate_resource_name

    def resource_name(resource_type: str, stack_name: str, logical_id: str) -> str:
        name: str = made_up_name(resource_type, stack_name, logical_id)
        return name.lower() if resource_type == "AWS::ECR::Repository" else name

    parse = Stack.parse_template

    def parse_template(template: str) -> dict[str, Any]:
        parsed = parse(template)
        types = {resource.get("Type") for resource in (parsed.get("Resources") or {}).values()}
        if unknown := sorted(str(one) for one in types - known.keys()):
            raise ValidationError(message=_unknown(unknown))
        return parsed

    def parse_change_set(self: ChangeSet) -> None:
        self.template_dict = parse_template(self.template)

    parsing.resource_class_from_type = resource_class
    parsing.resource_name_property_from_type = name_property
    parsing.generate_resource_name = resource_name
    Stack.parse_template = staticmethod(parse_template)
    ChangeSet._parse_template = parse_change_set


def _unknown(types: list[str]) -> str:
    return f"Template format error: Unrecognized resource types: {types}; the local AWS does not have them"


class ChangeSetNotFoundError(ValidationError):
    """What the CDK's command line waits for before it makes the next one of the name."""

    code = "ChangeSetNotFound"


def run_stacks_in_the_background() -> None:
    """Run change sets and deletions with `local_aws.cloudformation.changes`."""
    make = parsing.parse_and_create_resource

    def create(
        logical_id: str, resource_json: Any, resources_map: Any, account_id: str, region_name: str
    ) -> Any:
        stack = cloudformation_models.cloudformation_backends[account_id][region_name].get_stack(
            resources_map.stack_id
        )
        make_this = functools.partial(make, logical_id, resource_json, resources_map, account_id, region_name)
        return changes.create_resource(stack, resources_map, logical_id, resource_json, make_this)

    plan = CloudFormationBackend.create_change_set

    def create_change_set(
        self: CloudFormationBackend, stack_name: str, *, template: str, change_set_type: str, **rest: Any
    ) -> tuple[str, str]:
        Stack.parse_template(template)  # moto would make the stack first, and keep it without a template
        for stack in [one for one in self.stacks.values() if one.name == stack_name]:
            if change_set_type == "CREATE" and stack.status != "REVIEW_IN_PROGRESS":
                raise AlreadyExistsException(f"Stack {stack_name} already exists")
            if stack.status == "REVIEW_IN_PROGRESS":
                del self.stacks[stack.stack_id]
            elif stack.status.endswith("_IN_PROGRESS"):
                raise ValidationError(message=f"Stack {stack_name} is {stack.status} and can not be updated.")
        return plan(self, stack_name, template=template, change_set_type=change_set_type, **rest)

    def execute_change_set(
        self: CloudFormationBackend,
        change_set_name: str,
        stack_name: str | None = None,  # noqa: ARG001 - moto passes it
    ) -> None:
        change_set: Any = self.describe_change_set(change_set_name)
        del self.change_sets[change_set.change_set_id]
        changes.start(self, self.stacks[change_set.stack_id], change_set)

    def run_now(
        self: CloudFormationBackend, kind: str, name: str, *, template: str, parameters: Any, **rest: Any
    ) -> Stack:
        """CreateStack and UpdateStack: a change set that is executed at once."""
        change_set_id, stack_id = self.create_change_set(
            name,
            change_set_name="direct",
            change_set_type=kind,
            template=template,
            parameters=parameters,
            description="",
            **rest,
        )
        if self.change_sets[change_set_id].status == "FAILED":
            del self.change_sets[change_set_id]
            raise ValidationError(message="No updates are to be performed.")
        self.execute_change_set(change_set_id)
        return self.stacks[stack_id]

    taken = ("template", "parameters", "notification_arns", "tags", "role_arn")

    def create_stack(self: CloudFormationBackend, name: str, **arguments: Any) -> Stack:
        return run_now(self, "CREATE", name, **{key: arguments[key] for key in taken if key in arguments})

    def update_stack(self: CloudFormationBackend, name: str, *, parameters: Any, **arguments: Any) -> Stack:
        stack = self.get_stack(name)
        resolved = self._resolve_update_parameters(instance=stack, incoming_params=parameters)
        return run_now(self, "UPDATE", stack.name, parameters=resolved, **arguments)

    def delete_stack(self: CloudFormationBackend, name_or_stack_id: str) -> None:
        for stack in list(self.stacks.values()):
            if name_or_stack_id in {stack.name, stack.stack_id} and stack.status != "DELETE_IN_PROGRESS":
                changes.start_deletion(self, stack)

    parsing.parse_and_create_resource = create
    CloudFormationBackend.create_change_set = create_change_set
    CloudFormationBackend.execute_change_set = execute_change_set
    CloudFormationBackend.create_stack = create_stack
    CloudFormationBackend.update_stack = update_stack
    CloudFormationBackend.delete_stack = delete_stack
    # An update that keeps a parameter's value takes it from here.
    Stack.stack_parameters = property(given_parameters)
    # Moto's resource map makes what is read from it: a description must never create a resource.
    Stack.stack_resources = property(_made_resources)


class _ChangeSetNotFoundError(CloudFormationError):
    """Moto finds the code and the status (ChangeSetNotFound, 404) in botocore's model, by this name."""

    code = "ChangeSetNotFoundException"


def follow_updates() -> None:
    """What the CDK and the toolkit ask beside: whether a change set is gone, and that an update end."""

    def named(backend: CloudFormationBackend, name: str) -> list[ChangeSet]:
        change_sets = list(backend.change_sets.values())
        return [one for one in change_sets if name in {one.change_set_id, one.change_set_name}]

    def describe_change_set(self: CloudFormationBackend, change_set_name: str) -> ChangeSet:
        """The CDK waits until one is told to be gone before it plans another of its name."""
        for change_set in named(self, change_set_name):
            return change_set
        raise _ChangeSetNotFoundError(f"ChangeSet [{change_set_name}] does not exist")

    def delete_change_set(self: CloudFormationBackend, change_set_name: str) -> None:
        """One that is gone, as every executed one is, may be deleted again."""
        for change_set in named(self, change_set_name):
            del self.change_sets[change_set.change_set_id]

    def cancel_update_stack(self: CloudFormationResponse) -> ActionResult:
        changes.cancel_update(self.cloudformation_backend.get_stack(self._get_param("StackName")))
        return EmptyResult()

    CloudFormationBackend.describe_change_set = describe_change_set
    CloudFormationBackend.delete_change_set = delete_change_set
    CloudFormationResponse.cancel_update_stack = cancel_update_stack


def hand_tokens_on() -> None:
    """Let the operation that a request starts know its ClientRequestToken, which moto takes no notice of."""

    def knowing(answer: Callable[[CloudFormationResponse], ActionResult]) -> Any:
        @functools.wraps(answer)
        def answer_knowing(self: CloudFormationResponse) -> ActionResult:
            before = request_token.set(self._get_param("ClientRequestToken"))
            try:
                return answer(self)
            finally:
                request_token.reset(before)

        return answer_knowing

    for name in ("create_stack", "update_stack", "delete_stack", "execute_change_set"):
        setattr(CloudFormationResponse, name, knowing(getattr(CloudFormationResponse, name)))


def _made_resources(stack: Stack) -> list[Any]:
    resource_map = stack.resource_map
    made = dict(resource_map._parsed_resources)
    return [made[name] for name in resource_map._resource_json_map if made.get(name) is not None]


def fetch_templates_by_path() -> None:
    """Read a template from its S3 address; moto takes the host `s3.us-east-1.127` for a bucket."""

    def fetch(template_url: str, account_id: str, partition: str) -> str:
        parts = urlparse(template_url)
        bucket, _, key = parts.path.lstrip("/").partition("/")
        host = parts.hostname or ""
        if ".s3." in host or ".s3-" in host:
            bucket, key = host.split(".s3", 1)[0], parts.path.lstrip("/")
        template = s3_backends[account_id][partition].get_object(bucket, unquote(key))
        if template is None:
            raise ValidationError(message=f"S3 error: there is no template at {template_url}")
        return str(template.value.decode())

    cloudformation_responses.get_stack_from_s3_url = fetch
    cloudformation_models.get_stack_from_s3_url = fetch
