"""Operations that this package answers in place of moto, which does the wire format."""
# Replacing methods is what this room is for, and mypy forbids it under each of these names:
# mypy: disable-error-code="method-assign, assignment, attr-defined, arg-type"

import json
from collections.abc import Callable, Mapping
from urllib.parse import unquote, urlparse

from moto.codebuild.responses import CodeBuildResponse
from moto.core.common_types import TYPE_RESPONSE
from moto.core.responses import ActionResult, BaseResponse
from moto.ecr.responses import ECRResponse
from moto.sagemaker.responses import SageMakerResponse
from moto.sagemakerruntime.responses import SageMakerRuntimeResponse

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
        "Content-Type",
        "Accept",
        "X-Amzn-SageMaker-Custom-Attributes",
        "X-Amzn-SageMaker-Inference-Id",
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
