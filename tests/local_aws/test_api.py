"""Requests and replies of the local AWS against botocore's models."""

from typing import Any

import pytest

from local_aws.core.api import ApiError, ReplyError, call, from_cloudformation, service_model

ENDPOINT = {"EndpointArn": "arn:aws:sagemaker:us-east-1:000000000000:endpoint/e"}
REQUEST = {"EndpointName": "e", "EndpointConfigName": "c"}


def test_tags_are_checked_by_the_models_pattern_of_any_letter() -> None:
    tagged = {**REQUEST, "Tags": [{"Key": "semif:environment", "Value": "straße-1 + 2"}]}
    assert call("sagemaker", "CreateEndpoint", lambda _: dict(ENDPOINT), tagged) == ENDPOINT
    tags = [{"Key": "a|b", "Value": ""}]
    with pytest.raises(ApiError, match="does not match"):
        call("sagemaker", "CreateEndpoint", lambda _: dict(ENDPOINT), {**REQUEST, "Tags": tags})


def test_a_sound_call_passes_through() -> None:
    assert call("sagemaker", "CreateEndpoint", lambda _: dict(ENDPOINT), dict(REQUEST)) == ENDPOINT


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"EndpointName": "e"}, "EndpointConfigName"),
        ({**REQUEST, "Colour": "red"}, "Colour"),
        ({**REQUEST, "EndpointName": 1}, "EndpointName"),
        ({**REQUEST, "EndpointName": "under_score"}, "does not match"),
        ({**REQUEST, "EndpointName": "e" * 64}, "64"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_happens(request_: dict[str, Any], problem: str) -> None:
    def never(_: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("a refused request must not run")

    with pytest.raises(ApiError, match=problem) as caught:
        call("sagemaker", "CreateEndpoint", never, request_)
    assert caught.value.code == "ValidationException"


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ({}, "EndpointArn"),
        ({**ENDPOINT, "Colour": "red"}, "Colour"),
        ({"EndpointArn": None}, "EndpointArn"),
    ],
)
def test_a_reply_that_aws_could_not_give_is_our_error(reply: dict[str, Any], problem: str) -> None:
    with pytest.raises(ReplyError, match=problem):
        call("sagemaker", "CreateEndpoint", lambda _: reply, dict(REQUEST))


def test_a_reply_with_an_unknown_status_is_our_error() -> None:
    build = {"id": "p:1", "buildStatus": "NOT_BUILT"}
    with pytest.raises(ReplyError, match=r"buildStatus: 'NOT_BUILT' is not one of"):
        call("codebuild", "StartBuild", lambda _: {"build": build}, {"projectName": "p"})


def test_a_reply_to_an_operation_without_one_is_our_error() -> None:
    with pytest.raises(ReplyError, match="Colour"):
        call("sagemaker", "DeleteEndpoint", lambda _: {"Colour": "red"}, {"EndpointName": "e"})


def test_cloudformation_properties_become_api_members() -> None:
    shape = service_model("codebuild").operation_model("CreateProject").input_shape
    assert shape is not None
    properties = {
        "Name": "p",
        "Source": {"Type": "S3", "BuildSpec": "b.yml"},
        "TimeoutInMinutes": "30",
        "Environment": {
            "PrivilegedMode": "true",
            "EnvironmentVariables": [{"Name": "N", "Value": "1"}],
        },
    }
    assert from_cloudformation(shape, properties) == {
        "name": "p",
        "source": {"type": "S3", "buildspec": "b.yml"},
        "timeoutInMinutes": 30,
        "environment": {"privilegedMode": True, "environmentVariables": [{"name": "N", "value": "1"}]},
    }
    with pytest.raises(ApiError, match=r"the property Source\.Branch is not supported"):
        from_cloudformation(shape, {"Source": {"Branch": "main"}})
