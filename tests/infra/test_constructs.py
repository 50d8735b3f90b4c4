"""The constructs as other people's apps use them: ids that stay, who is let in, what is imported."""

from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Stack
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from semif.images.image_ref import ImageRef
from semif_constructs.hosting.served_model import ServedModel

IMAGE = ImageRef.parse(f"111122223333.dkr.ecr.eu-central-1.amazonaws.com/x@sha256:{'b' * 64}")


def model_of(stack: Stack, **given: Any) -> ServedModel:
    arguments = {
        "endpoint_name": "semif-test",
        "environment": {},
        "image": IMAGE,
        "model_bucket_name": "bucket",
        "model_key": "models/x/model.tar.gz",
    }
    return ServedModel(stack, "Model", **{**arguments, **given})


def policies_of(stack: Stack) -> set[str]:
    return set(Template.from_stack(stack).find_resources("AWS::IAM::Policy"))


@pytest.mark.parametrize("place", ["made here", "made in another stack", "a parameter", "a key made late"])
def test_a_second_synthesis_gives_the_same_ids(tmp_path: Path, place: str) -> None:
    found = []
    for tokens_before in (0, 7):
        app = App(analytics_reporting=False, outdir=str(tmp_path / f"cdk-{tokens_before}"))
        stack, other = Stack(app, "Test"), Stack(app, "Other")
        for number in range(
            tokens_before
        ):  # a token's text carries its number, which depends on all before it
            CfnParameter(other, f"Before{number}").value_as_string  # noqa: B018
        given: dict[str, Any] = {"model_bucket_name": s3.Bucket(stack, "Bucket").bucket_name}
        if place == "made in another stack":
            given = {"model_bucket_name": s3.Bucket(other, "Bucket").bucket_name}
        elif place == "a parameter":
            given = {"model_bucket_name": CfnParameter(stack, "Name").value_as_string}
        elif place == "a key made late":
            given = {"model_key": CfnParameter(stack, "Key").value_as_string}
        model_of(stack, **given)
        found.append(policies_of(stack))
    assert found[0] == found[1]


def test_a_literal_place_has_the_id_that_it_always_had(stack: Stack) -> None:
    model_of(stack)
    assert [key for key in policies_of(stack) if "Archive" in key] == ["ModelArchiveb593484804F89F7C"]
