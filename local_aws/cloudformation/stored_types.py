"""Alarms, scaling, budgets, schedules, policies of topics: kept by moto, to be looked up, never acted on.

No metric is published here: an alarm stays INSUFFICIENT_DATA, and nothing is scaled. Nothing costs anything,
and no schedule comes to its time.
"""

import json

from local_aws.cloudformation.resource_types import Created, ResourceFailedError, ResourceType
from local_aws.core.api import Params, from_cloudformation, problems, service_model
from local_aws.core.context import LocalContext


def watching_types(context: LocalContext) -> list[ResourceType]:
    """The resource types of watching and scaling an endpoint that moto's CloudFormation does not have."""
    return [
        _alarm(context),
        _topic_policy(context),
        _scalable_target(context),
        _scaling_policy(context),
        _budget(context),
        _schedule(context),
    ]


def _alarm(context: LocalContext) -> ResourceType:
    def put(name: str, properties: Params) -> Created:
        wanted = _checked("cloudwatch", "PutMetricAlarm", properties | {"AlarmName": name})
        context.client("cloudwatch").put_metric_alarm(**wanted)
        return Created(name, {"Arn": context.arn("cloudwatch", f"alarm:{name}")})

    return ResourceType(
        "AWS::CloudWatch::Alarm",
        create=put,
        update=lambda created, properties: put(created.physical_id, properties),
        delete=lambda created: context.client("cloudwatch").delete_alarms(AlarmNames=[created.physical_id]),
        name_property="AlarmName",
        attributes=("Arn",),
    )


def _topic_policy(context: LocalContext) -> ResourceType:
    def put(name: str, properties: Params) -> Created:
        for topic in properties["Topics"]:
            context.client("sns").set_topic_attributes(
                TopicArn=topic,
                AttributeName="Policy",
                AttributeValue=json.dumps(properties["PolicyDocument"]),
            )
        return Created(name)

    return ResourceType(
        "AWS::SNS::TopicPolicy",
        create=put,
        update=lambda created, properties: put(created.physical_id, properties),
        delete=lambda _: None,  # goes with its topic
    )


def _scalable_target(context: LocalContext) -> ResourceType:
    def put(_: str, properties: Params) -> Created:
        bounds = {key: value for key, value in properties.items() if key != "ScheduledActions"}
        wanted = _checked("application-autoscaling", "RegisterScalableTarget", bounds)
        client = context.client("application-autoscaling")
        client.register_scalable_target(**wanted)
        target = {key: wanted[key] for key in ("ResourceId", "ScalableDimension", "ServiceNamespace")}
        for action in properties.get("ScheduledActions", []):
            asked = _checked("application-autoscaling", "PutScheduledAction", action | target)
            client.put_scheduled_action(**asked)
        return Created("|".join(target.values()))

    def delete(created: Created) -> None:
        context.client("application-autoscaling").deregister_scalable_target(**_target(created.physical_id))

    return ResourceType(
        "AWS::ApplicationAutoScaling::ScalableTarget",
        create=put,
        update=lambda created, properties: put(created.physical_id, properties),
        delete=delete,
        further_identity=("ResourceId", "ScalableDimension", "ServiceNamespace"),
    )


def _scaling_policy(context: LocalContext) -> ResourceType:
    def put(_: str, properties: Params) -> Created:
        target = _target(properties["ScalingTargetId"])
        rest = {key: value for key, value in properties.items() if key != "ScalingTargetId"}
        wanted = _checked("application-autoscaling", "PutScalingPolicy", rest | target)
        reply = context.client("application-autoscaling").put_scaling_policy(**wanted)
        return Created(reply["PolicyARN"], {**target, "PolicyName": wanted["PolicyName"]})

    return ResourceType(
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        create=put,
        update=lambda created, properties: put(created.physical_id, properties),
        delete=lambda created: context.client("application-autoscaling").delete_scaling_policy(
            **created.attributes
        ),
        further_identity=("PolicyName", "ScalingTargetId"),
    )


def _budget(context: LocalContext) -> ResourceType:
    def create(name: str, properties: Params) -> Created:
        named = properties | {"Budget": {"BudgetName": name} | properties["Budget"]}
        wanted = _checked("budgets", "CreateBudget", named | {"AccountId": context.account})
        context.client("budgets").create_budget(**wanted)
        return Created(wanted["Budget"]["BudgetName"])

    def delete(created: Created) -> None:
        context.client("budgets").delete_budget(AccountId=context.account, BudgetName=created.physical_id)

    return ResourceType("AWS::Budgets::Budget", create=create, delete=delete)


def _schedule(context: LocalContext) -> ResourceType:
    def request(operation: str, name: str, properties: Params) -> Params:
        return _checked("scheduler", operation, properties | {"Name": name})

    def create(name: str, properties: Params) -> Created:
        reply = context.client("scheduler").create_schedule(**request("CreateSchedule", name, properties))
        return Created(name, {"Arn": reply["ScheduleArn"]})

    def update(created: Created, properties: Params) -> Created:
        wanted = request("UpdateSchedule", created.physical_id, properties)
        context.client("scheduler").update_schedule(**wanted)
        return created

    return ResourceType(
        "AWS::Scheduler::Schedule",
        create=create,
        update=update,
        delete=lambda created: context.client("scheduler").delete_schedule(Name=created.physical_id),
        name_property="Name",
        attributes=("Arn",),
    )


def _target(target_id: str) -> dict[str, str]:
    """The members by which the API knows a target of which CloudFormation keeps one name."""
    resource, dimension, namespace = target_id.split("|")
    return {"ResourceId": resource, "ScalableDimension": dimension, "ServiceNamespace": namespace}


def _checked(service: str, operation: str, properties: Params) -> Params:
    """The API's request for these properties; raises ResourceFailedError for what the API would refuse."""
    shape = service_model(service).operation_model(operation).input_shape
    assert shape is not None, f"{operation} takes no input"
    request: Params = from_cloudformation(shape, properties)
    if wrong := problems(shape, request):
        raise ResourceFailedError(f"{operation}: {'; '.join(wrong)}")
    return request
