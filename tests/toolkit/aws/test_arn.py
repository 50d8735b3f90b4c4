"""ARNs, taken apart."""

import pytest

from semif.aws.arn import Arn


def test_the_parts_have_names() -> None:
    key = Arn.parse("arn:aws-cn:kms:cn-north-1:111122223333:key/1:2")
    assert key == ("aws-cn", "kms", "cn-north-1", "111122223333", "key/1:2")
    policy = Arn.parse("arn:aws:iam::aws:policy/Bound")
    assert policy is not None
    assert (policy.region, policy.account, policy.resource) == ("", "aws", "policy/Bound")


@pytest.mark.parametrize("text", ["", "mail", "arn:aws:sns:eu-central-1", "urn:aws:sns:eu-central-1:1:topic"])
def test_what_is_none_is_none(text: str) -> None:
    assert Arn.parse(text) is None
