"""Every patch of moto, and nothing else. Moto's inside changes with each release: the version is pinned."""
# Replacing methods is what this file is for, and mypy forbids it under each of these names:
# mypy: disable-error-code="method-assign, assignment, attr-defined, arg-type"

# The version is checked before the imports that another moto might not have:
# ruff: noqa: E402

import functools
import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote, urlparse

MOTO = "5.2.5"
if version("moto") != MOTO:
    raise ImportError(
        f"the local AWS patches moto {MOTO} and no other, found {version('moto')}; install the extra `demo`"
    )

import moto.cloudformation.models as cloudformation_models
import moto.cloudformation.responses as cloudformation_responses
from moto.cloudformation import parsing
from moto.cloudformation.exceptions import AlreadyExistsException, ValidationError
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Stack
from moto.codebuild.responses import CodeBuildResponse
from moto.core.common_types import TYPE_RESPONSE
from moto.core.responses import ActionResult, BaseResponse
from moto.ecr.models import Repository, ecr_backends
from moto.ecr.responses import ECRResponse
from moto.iam.access_control import PermissionResult
from moto.s3.models import FakeBucket, PublicAccessBlock, s3_backends
from moto.sagemaker.responses import SageMakerResponse
from moto.sagemakerruntime.responses import SageMakerRuntimeResponse

from local_aws.cloudformation import changes
from local_aws.cloudformation.resource_types import Resource
from local_aws.core.api import ApiError, Operation, ReplyError, call, from_headers
from local_aws.core.context import LocalContext
from local_aws.sagemaker.endpoints import SageMakerEndpoints


def serve_operations(context: LocalContext, service: str, operations: Mapping[str, Operation]) -> None:
    """Answer these operations of a service with ours; moto does the wire format."""
    classes = {"codebuild": CodeBuildResponse, "ecr": ECRResponse, "sagemaker": SageMakerResponse}
    responses = classes[service]
    for operation, implementation in operations.items():
        method = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation)[1:]
        setattr(responses, method, _handler(context, service, operation, implementation))


def _handler(
    context: LocalContext, service: str, operation: str, implementation: Operation
) -> Callable[[BaseResponse], ActionResult | TYPE_RESPONSE]:
    def handle(self: BaseResponse) -> ActionResult | TYPE_RESPONSE:
        try:
            _check_region(context, self.region)
            return ActionResult(call(service, operation, implementation, json.loads(self.body or "{}")))
        except ApiError as error:
            return _json_error(400, error.code, error.message)
        except ReplyError as error:
            return _json_error(500, "InternalFailure", str(error))

    return handle


def _json_error(status: int, code: str, message: str) -> TYPE_RESPONSE:
    """An error as the JSON protocols spell it; moto takes the status from among the headers."""
    body = json.dumps({"__type": code, "message": message, "Message": message})
    return status, {"status": status, "Content-Type": "application/json", "x-amzn-errortype": code}, body


def _check_region(context: LocalContext, region: str) -> None:
    if region != context.region:
        raise ApiError(
            "ValidationException",
            f"the local AWS is the region {context.region}, the request is for {region}",
        )


def serve_invocations(context: LocalContext, endpoints: SageMakerEndpoints) -> None:
    """Let InvokeEndpoint and InvokeEndpointAsync reach the endpoint; moto answers with a canned body."""
    passed_on = (
        *("Content-Type", "Accept"),
        *("X-Amzn-SageMaker-Custom-Attributes", "X-Amzn-SageMaker-Inference-Id"),
    )

    def invoke_endpoint(self: SageMakerRuntimeResponse) -> TYPE_RESPONSE:
        name = unquote(urlparse(self.uri).path.split("/")[2])
        headers = {name: self.headers[name] for name in passed_on if self.headers.get(name)}
        try:
            _check_region(context, self.region)
            reply = endpoints.invoke_endpoint(name, self.body, headers)
        except ApiError as error:
            return _json_error(400, "ValidationError", error.message)
        return reply.status, {**reply.headers, "status": reply.status}, reply.body

    def invoke_endpoint_async(self: SageMakerRuntimeResponse) -> TYPE_RESPONSE:
        name = unquote(urlparse(self.uri).path.split("/")[2])
        header_of = {
            "OutputLocation": "X-Amzn-SageMaker-OutputLocation",
            "FailureLocation": "X-Amzn-SageMaker-FailureLocation",
        }
        try:
            _check_region(context, self.region)
            asked = from_headers("sagemaker-runtime", "InvokeEndpointAsync", self.headers)
            reply = call(
                "sagemaker-runtime",
                "InvokeEndpointAsync",
                lambda params: endpoints.invoke_endpoint_async(name, params),
                {**asked, "EndpointName": name, **({"Body": self.body} if self.body else {})},
            )
        except ApiError as error:
            return _json_error(400, "ValidationError", error.message)
        headers = {header: reply[member] for member, header in header_of.items() if member in reply}
        return 202, {**headers, "status": 202}, json.dumps({"InferenceId": reply["InferenceId"]})

    SageMakerRuntimeResponse.invoke_endpoint = invoke_endpoint
    SageMakerRuntimeResponse.invoke_endpoint_async = invoke_endpoint_async
    SageMakerRuntimeResponse.use_raw_body = True  # a body need not be text


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

    def delete_change_set(self: CloudFormationBackend, change_set_name: str) -> None:
        """One that is gone, as every executed one is, may be deleted again."""
        for change_set in list(self.change_sets.values()):
            if change_set_name in {change_set.change_set_id, change_set.change_set_name}:
                del self.change_sets[change_set.change_set_id]

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
    CloudFormationBackend.delete_change_set = delete_change_set
    CloudFormationBackend.create_stack = create_stack
    CloudFormationBackend.update_stack = update_stack
    CloudFormationBackend.delete_stack = delete_stack
    # Moto's resource map makes what is read from it: a description must never create a resource.
    Stack.stack_resources = property(_made_resources)


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


def complete_buckets() -> None:
    """Keep what moto drops of a bucket's properties, and refuse to delete one that is not empty."""
    create = FakeBucket.create_from_cloudformation_json.__func__
    delete = FakeBucket.delete_from_cloudformation_json.__func__

    def create_bucket(
        cls: type[FakeBucket], resource_name: str, cloudformation_json: Any, *where: str, **rest: str
    ) -> FakeBucket:
        bucket: FakeBucket = create(cls, resource_name, cloudformation_json, *where, **rest)
        properties = cloudformation_json.get("Properties", {})
        if "VersioningConfiguration" in properties:
            bucket.versioning_status = properties["VersioningConfiguration"]["Status"]
        if block := properties.get("PublicAccessBlockConfiguration"):
            bucket.public_access_block = PublicAccessBlock(
                block_public_acls=_truth(block.get("BlockPublicAcls")),
                ignore_public_acls=_truth(block.get("IgnorePublicAcls")),
                block_public_policy=_truth(block.get("BlockPublicPolicy")),
                restrict_public_buckets=_truth(block.get("RestrictPublicBuckets")),
            )
        return bucket

    def delete_bucket(
        cls: type[FakeBucket], resource_name: str, cloudformation_json: Any, account_id: str, region_name: str
    ) -> None:
        bucket = s3_backends[account_id]["aws"].buckets.get(resource_name)
        if bucket is not None and bucket.keys:
            raise ValidationError(message=f"The bucket you tried to delete is not empty: {resource_name}")
        delete(cls, resource_name, cloudformation_json, account_id, region_name)

    FakeBucket.create_from_cloudformation_json = classmethod(create_bucket)
    FakeBucket.delete_from_cloudformation_json = classmethod(delete_bucket)


def complete_repositories() -> None:
    """Delete a repository with its images where the template says so (EmptyOnDelete)."""
    create = Repository.create_from_cloudformation_json.__func__

    def create_repository(
        cls: type[Repository], resource_name: str, cloudformation_json: Any, *where: str, **rest: str
    ) -> Repository:
        repository: Repository = create(cls, resource_name, cloudformation_json, *where, **rest)
        repository.empty_on_delete = _truth(cloudformation_json["Properties"].get("EmptyOnDelete")) == "true"
        return repository

    def delete(self: Repository, account_id: str, region_name: str) -> None:
        ecr_backends[account_id][region_name].delete_repository(self.name, force=self.empty_on_delete)

    Repository.create_from_cloudformation_json = classmethod(create_repository)
    Repository.delete = delete


def _truth(value: object) -> str:
    return str(value or False).lower()


def enforce_no_policies() -> None:
    """Keep bucket policies without applying them: no IAM is enforced here, and everything is plain HTTP."""
    FakeBucket.get_permission = lambda _self, _action, _resource: PermissionResult.NEUTRAL
