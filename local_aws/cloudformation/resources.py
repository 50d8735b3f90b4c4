"""CloudFormation resource types that moto does not have, or has in a way that could not be hosted."""

import json
from collections.abc import Mapping
from typing import Any

from local_aws.cloudformation.resource_types import Created, Resource, ResourceFailedError, ResourceType
from local_aws.cloudformation.stored_types import watching_types
from local_aws.codebuild.projects import CodeBuild
from local_aws.core.api import Operation, Params, call, from_cloudformation, service_model
from local_aws.core.context import LocalContext
from local_aws.sagemaker.endpoints import SageMakerEndpoints
from local_aws.sagemaker.records import SageMakerRecords

FOR_UPDATES = {"ExcludeRetainedVariantProperties", "RetainAllVariantProperties", "RetainDeploymentConfig"}
"""Properties of an endpoint that CloudFormation passes on when it is updated, and only then."""


def resource_classes(
    context: LocalContext, records: SageMakerRecords, endpoints: SageMakerEndpoints, codebuild: CodeBuild
) -> dict[str, type[Resource]]:
    """The classes of all types defined here, by type name."""
    types = [
        ResourceType(
            "AWS::CDK::Metadata",
            create=lambda name, _: Created(name),
            update=lambda created, _: created,
            delete=lambda _: None,
        ),
        _bucket_policy(context),
        _codebuild_project(codebuild),
        _sagemaker_record("Model", records.operations()),
        _sagemaker_record("EndpointConfig", records.operations()),
        _sagemaker_endpoint(endpoints),
        *watching_types(context),
    ]
    return {one.name: type("Resource", (Resource,), {"definition": one}) for one in types}


def _bucket_policy(context: LocalContext) -> ResourceType:
    def put(bucket: str, properties: Params) -> Created:
        context.s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(properties["PolicyDocument"]))
        return Created(bucket)

    def delete(created: Created) -> None:
        context.s3.delete_bucket_policy(Bucket=created.physical_id)

    return ResourceType(
        "AWS::S3::BucketPolicy",
        create=lambda _, properties: put(properties["Bucket"], properties),
        update=lambda created, properties: put(created.physical_id, properties),
        delete=delete,
        further_identity=("Bucket",),
    )


def _codebuild_project(codebuild: CodeBuild) -> ResourceType:
    operations = codebuild.operations()

    def put(operation: str, name: str, properties: Params) -> Created:
        api_properties = {
            key: value for key, value in properties.items() if key not in {"Name", "Visibility"}
        }
        reply = _call("codebuild", operation, operations, api_properties | {"Name": name})
        return Created(name, {"Arn": reply["project"]["arn"]})

    def delete(created: Created) -> None:
        _call("codebuild", "DeleteProject", operations, {"name": created.physical_id})

    return ResourceType(
        "AWS::CodeBuild::Project",
        create=lambda name, properties: put("CreateProject", name, properties),
        update=lambda created, properties: put("UpdateProject", created.physical_id, properties),
        delete=delete,
        name_property="Name",
        attributes=("Arn",),
    )


def _sagemaker_record(kind: str, operations: Mapping[str, Operation]) -> ResourceType:
    def create(name: str, properties: Params) -> Created:
        reply = _call("sagemaker", f"Create{kind}", operations, properties | {f"{kind}Name": name})
        return Created(reply[f"{kind}Arn"], {f"{kind}Name": name})

    def delete(created: Created) -> None:
        _call("sagemaker", f"Delete{kind}", operations, dict(created.attributes))

    return ResourceType(
        f"AWS::SageMaker::{kind}",
        create=create,
        delete=delete,
        name_property=f"{kind}Name",
        attributes=(f"{kind}Name",),
    )


def _sagemaker_endpoint(endpoints: SageMakerEndpoints) -> ResourceType:
    operations = endpoints.operations()

    def settle(name: str, config_name: str, arn: str) -> Created:
        endpoint = endpoints.wait_until_settled(name)
        if endpoint.status != "InService" or endpoint.config_name != config_name:
            raise ResourceFailedError(endpoint.failure_reason or f"the endpoint is {endpoint.status}")
        return Created(arn, {"EndpointName": name})

    def create(name: str, properties: Params) -> Created:
        made = {key: value for key, value in properties.items() if key not in FOR_UPDATES}
        reply = _call("sagemaker", "CreateEndpoint", operations, made | {"EndpointName": name})
        try:
            return settle(name, properties["EndpointConfigName"], reply["EndpointArn"])
        except ResourceFailedError:
            _call("sagemaker", "DeleteEndpoint", operations, {"EndpointName": name})
            raise

    def update(created: Created, properties: Params) -> Created:
        name = created.attributes["EndpointName"]
        wanted = {key: value for key, value in properties.items() if key != "Tags"} | {"EndpointName": name}
        _call("sagemaker", "UpdateEndpoint", operations, wanted)
        return settle(name, properties["EndpointConfigName"], created.physical_id)

    def delete(created: Created) -> None:
        _call("sagemaker", "DeleteEndpoint", operations, dict(created.attributes))

    return ResourceType(
        "AWS::SageMaker::Endpoint",
        create=create,
        update=update,
        delete=delete,
        name_property="EndpointName",
        attributes=("EndpointName",),
    )


def _call(service: str, operation: str, operations: Mapping[str, Operation], properties: Any) -> Params:
    """An API call from CloudFormation properties, checked like one that came over HTTP."""
    shape = service_model(service).operation_model(operation).input_shape
    assert shape is not None, f"{operation} takes no input"
    return call(service, operation, operations[operation], from_cloudformation(shape, properties))
