"""Events of the local AWS's stacks: whose operation they are of, as CloudFormation tells it."""

import json

from tests.support.servers.local_aws import LocalAws
from tests.support.servers.local_stacks import resource, status_when_settled


def test_all_events_of_an_operation_carry_its_token_and_no_others(local_aws: LocalAws) -> None:
    name, cloudformation = "with-tokens", local_aws.cloudformation
    template = {"Resources": {"Bucket": resource("AWS::S3::Bucket", {"BucketName": name})}}
    stack = cloudformation.create_stack(
        StackName=name, TemplateBody=json.dumps(template), ClientRequestToken="made"
    )["StackId"]
    assert status_when_settled(local_aws, name) == "CREATE_COMPLETE"
    template["Resources"]["Topic"] = resource("AWS::SNS::Topic", {})
    cloudformation.update_stack(StackName=name, TemplateBody=json.dumps(template), ClientRequestToken="more")
    assert status_when_settled(local_aws, name) == "UPDATE_COMPLETE"
    del template["Resources"]["Topic"]
    cloudformation.create_change_set(
        StackName=name, ChangeSetName="next", ChangeSetType="UPDATE", TemplateBody=json.dumps(template)
    )
    cloudformation.execute_change_set(StackName=name, ChangeSetName="next", ClientRequestToken="less")
    assert status_when_settled(local_aws, name) == "UPDATE_COMPLETE"
    local_aws.s3.put_object(Bucket=name, Key="kept", Body=b"x")
    for token in ({"ClientRequestToken": "in-vain"}, {}):
        cloudformation.delete_stack(StackName=name, **token)  # type: ignore[arg-type]  # one that is known
        assert status_when_settled(local_aws, name) == "DELETE_FAILED"

    told: dict[str | None, list[tuple[str, str]]] = {}
    for event in reversed(cloudformation.describe_stack_events(StackName=stack)["StackEvents"]):
        of_operation = told.setdefault(event.get("ClientRequestToken"), [])
        of_operation.append((event["LogicalResourceId"], event["ResourceStatus"]))
    failed = [
        (name, "DELETE_IN_PROGRESS"),
        ("Bucket", "DELETE_IN_PROGRESS"),
        ("Bucket", "DELETE_FAILED"),
        (name, "DELETE_FAILED"),
    ]
    assert told.pop(None)[-len(failed) :] == failed
    assert told.pop("in-vain") == failed
    assert {token: (events[0], events[-1]) for token, events in told.items()} == {
        "made": ((name, "CREATE_IN_PROGRESS"), (name, "CREATE_COMPLETE")),
        "more": ((name, "UPDATE_IN_PROGRESS"), (name, "UPDATE_COMPLETE")),
        "less": ((name, "UPDATE_IN_PROGRESS"), (name, "UPDATE_COMPLETE")),
    }
    assert ("Topic", "CREATE_COMPLETE") in told["more"]
    assert ("Topic", "DELETE_COMPLETE") in told["less"]
    local_aws.s3.delete_object(Bucket=name, Key="kept")
    cloudformation.delete_stack(StackName=name)
