"""Calls are read out of the source, and each names what it is on where its right is on that alone."""

import ast
from collections.abc import Iterator

import pytest

from semif.rights.conditions import everything
from semif.rights.table import RIGHTS
from tests.toolkit.rights.calls import OF_S3, SEMIF, Call, called, calls, calls_in, operations
from tests.toolkit.rights.calls import rights_of_operations as rights

NAMED_BY = {
    "create_model_package": "ModelPackageGroupName",
    "describe_log_streams": "logGroupName",
    "describe_stacks": "StackName",
    "filter_log_events": "logGroupName",
    "get_log_events": "logGroupName",
    "get_template": "StackName",
}
"""What says which resource a call is on, of operations that botocore would send without: AWS then asks for
the right on all that there are (DescribeStacks in CloudFormation's API reference, as in botocore's model:
"This requires ListStacks and DescribeStacks permissions", read 2026-12-01). Another policy than ours."""
ON_THIS_MACHINE = {SEMIF / "target" / "local_server.py"}
"""Files that ask the AWS on this machine alone, which asks for no rights."""


def on_named_alone() -> set[str]:
    """Rights that no row of the table gives on everything."""
    of_all = {action for right in RIGHTS if right.resources is everything for action in right.actions}
    return {action for right in RIGHTS for action in right.actions} - of_all


def nameless(found: list[Call]) -> Iterator[Call]:
    """Calls that their right does not cover, as they do not say what they are on."""
    return (
        call
        for call in found
        if rights()[call.method] & on_named_alone() and NAMED_BY.get(call.method, "") not in {"", *call.given}
    )


def test_calls_are_found_with_what_they_are_given_and_nothing_else_is_taken_for_one() -> None:
    text = """
aws.sagemaker.search(Resource="Endpoint")
aws.s3.copy(source, bucket, key)
pages = self.aws.logs.get_paginator("describe_log_groups").paginate(limit=3)
later = self.aws.s3.get_paginator("list_objects_v2")
query: GetLogEventsRequestTypeDef = {"logGroupName": group, "limit": 3}
aws.logs.get_log_events(startFromHead=True, **query)
aws.logs.filter_log_events(**unknown)
re.search("a", "b")
content.copy()
"""
    assert {call.method: set(call.given) for call in calls_in(ast.parse(text))} == {
        "search": {"Resource"},
        "copy": set(),
        "describe_log_groups": {"limit"},
        "list_objects_v2": set(),
        "get_log_events": {"startFromHead", "logGroupName", "limit"},
        "filter_log_events": set(),
    }


def test_what_an_operation_may_leave_out_is_known() -> None:
    """Of every operation that needs no parameter; what others are on is in those that they need."""
    needs_none = {
        method
        for method in called() - OF_S3.keys()
        for _, operation in operations()[method]
        if rights()[method] & on_named_alone()
        if operation.input_shape is not None and not operation.input_shape.required_members
    }
    assert needs_none <= NAMED_BY.keys() <= called()


@pytest.mark.parametrize(
    ("line", "covered"),
    [
        ('aws.cloudformation.get_paginator("describe_stacks").paginate()', False),
        ('aws.cloudformation.get_paginator("describe_stacks")', False),
        ("aws.cloudformation.describe_stacks()", False),
        ("aws.cloudformation.describe_stacks(StackName=name)", True),
        ("aws.logs.filter_log_events(**anything)", False),
        ("aws.sagemaker.list_endpoints()", True),
    ],
)
def test_a_call_that_names_nothing_is_seen(line: str, covered: bool) -> None:
    found = list(calls_in(ast.parse(line)))
    assert len(found) == 1
    assert list(nameless(found)) == ([] if covered else found)


def test_no_call_needs_a_right_on_more_than_the_table_gives() -> None:
    assert calls().keys() >= ON_THIS_MACHINE
    found = {
        str(path.relative_to(SEMIF)): [call.method for call in nameless(of_file)]
        for path, of_file in calls().items()
        if path not in ON_THIS_MACHINE
    }
    assert {path: methods for path, methods in found.items() if methods} == {}
