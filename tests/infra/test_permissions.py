"""Least privilege, over every policy of every template."""

from collections.abc import Iterator
from typing import Any

import pytest

from semif.environment.environment import environment_names
from tests.infra.account_cases import ACCOUNT_CASES
from tests.infra.matrix import BATCH, cases

Templates = dict[str, Any]
CASES = cases()
ALL_CASES = [*CASES, *BATCH, *ACCOUNT_CASES]

ANY_RESOURCE = {
    "ecr:GetAuthorizationToken": "the token of a registry has no resource",
    "ecr-public:GetAuthorizationToken": "the token of the public registry has no resource",
    "sts:GetServiceBearerToken": "has no resource; limited to ecr-public by a condition",
    "cloudwatch:PutMetricData": "has no resource; limited to SageMaker's namespaces by a condition",
}
EC2_DESCRIBES = {"DhcpOptions", "NetworkInterfaces", "SecurityGroups", "Subnets", "Vpcs"}
ANY_RESOURCE |= {f"ec2:Describe{what}": "EC2's Describe actions have no resource" for what in EC2_DESCRIBES}
NEEDS_CONDITION = {"sts:GetServiceBearerToken", "cloudwatch:PutMetricData"}
ENDINGS_IN_A_WILDCARD = (
    *("/files/*", "/images/*", "/models/*", "/sources/*"),
    *("/requests/*", "/answers/*", "/failures/*", "/captured/*"),
    *(":log-stream:*", ":network-interface/*"),
    *("/lines/*", "/answers/*"),
    ":scalable-target/*",
)


def statements(template: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::IAM::Policy":
            yield from resource["Properties"]["PolicyDocument"]["Statement"]
        assert resource["Type"] != "AWS::IAM::ManagedPolicy"
        assert "ManagedPolicyArns" not in resource.get("Properties", {})
        assert "Policies" not in resource.get("Properties", {})


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def flat(resource: Any) -> str:
    """An ARN expression as text, with `${…}` for what CloudFormation fills in."""
    match resource:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(map(flat, parts))
        case {"Ref": name} | {"Fn::GetAtt": [name, _]}:
            return f"${{{name}}}"
        case _:
            return str(resource)


@pytest.fixture(
    params=[
        (fixture, name, stack)
        for fixture, names in (
            ("templates", environment_names()),
            ("matrix", [*CASES, *BATCH, *ACCOUNT_CASES]),
        )
        for name in names
        for stack in ("Artifacts", "Endpoint")
    ],
    ids=lambda param: "-".join(param[1:]),
)
def template(request: pytest.FixtureRequest) -> dict[str, Any]:
    fixture, name, stack = request.param
    found: dict[str, Templates] = request.getfixturevalue(fixture)
    return found[name][stack]


def test_no_statement_allows_a_wildcard_action(template: dict[str, Any]) -> None:
    seen = 0
    for statement in statements(template):
        assert statement["Effect"] == "Allow"
        for action in listed(statement["Action"]):
            assert "*" not in action
            seen += 1
    assert seen > 5


def test_any_resource_only_where_an_action_has_none(template: dict[str, Any]) -> None:
    for statement in statements(template):
        actions = set(listed(statement["Action"]))
        for resource in map(flat, listed(statement["Resource"])):
            if resource == "*":
                assert actions <= set(ANY_RESOURCE)
            elif "*" in resource:
                assert resource.endswith(ENDINGS_IN_A_WILDCARD)
                assert resource.count("*") == 1
        if actions & NEEDS_CONDITION:
            assert statement["Condition"]


def test_network_interfaces_are_those_of_the_subnets_alone(template: dict[str, Any]) -> None:
    """Of whatever policy: one is made in a subnet, and what else is done to it goes by its subnet."""
    policies = [item for item in template["Resources"].values() if item["Type"] == "AWS::IAM::Policy"]
    for policy in policies:
        on_interfaces = [
            statement
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
            if any(":network-interface/" in flat(one) for one in listed(statement["Resource"]))
        ]
        made = [one for one in on_interfaces if listed(one["Action"]) == ["ec2:CreateNetworkInterface"]]
        subnets = {
            flat(one) for statement in made for one in statement["Resource"] if ":subnet/" in flat(one)
        }
        assert not [subnet for subnet in subnets if subnet.endswith("*")]
        assert bool(subnets) == bool(on_interfaces)
        others = [one for one in on_interfaces if one not in made]
        for statement in others:
            assert set(map(flat, listed(statement["Condition"]["ArnEquals"]["ec2:Subnet"]))) == subnets
        actions = [action for statement in others for action in listed(statement["Action"])]
        assert ("ec2:DeleteNetworkInterface" in actions) == bool(on_interfaces)


def test_network_interfaces_are_in_some_template(matrix: dict[str, Templates]) -> None:
    """So the test above sees them, of the model and of builds."""
    for stack in ("Artifacts", "Endpoint"):
        assert any("ec2:DeleteNetworkInterface" in str(matrix[name][stack]) for name in CASES)


def test_roles_are_assumed_by_one_service_for_this_account_only(template: dict[str, Any]) -> None:
    roles = [item for item in template["Resources"].values() if item["Type"] == "AWS::IAM::Role"]
    assert roles or "'Roles': ['hosting']" in str(template)
    for role in roles:
        (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        services = {f"{name}.amazonaws.com" for name in ("codebuild", "sagemaker", "scheduler")}
        assert statement["Principal"]["Service"] in services
        assert "aws:SourceAccount" in statement["Condition"]["StringEquals"]


def test_the_endpoint_reads_its_one_archive_and_writes_its_one_log(templates: dict[str, Templates]) -> None:
    allowed = [
        (action, flat(resource))
        for statement in statements(templates["dev"]["Endpoint"])
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    ]
    archives = [resource for action, resource in allowed if action.startswith("s3:")]
    assert len(archives) == 1
    assert archives[0].endswith("/model.tar.gz")
    logs = {resource for action, resource in allowed if action.startswith("logs:")}
    assert all(":log-group:/aws/sagemaker/Endpoints/semif-dev" in resource for resource in logs)
    pulls = {resource for action, resource in allowed if action == "ecr:BatchGetImage"}
    assert pulls == {"arn:aws:ecr:eu-central-1:111122223333:repository/semif-dev-example"}


@pytest.mark.parametrize("name", [*CASES, *BATCH])
def test_a_log_group_is_made_only_where_there_is_none_of_ours(
    matrix: dict[str, Templates], name: str
) -> None:
    (writes,) = [
        statement
        for statement in statements(matrix[name]["Endpoint"])
        if "logs:PutLogEvents" in statement["Action"]
    ]
    assert ("logs:CreateLogGroup" in writes["Action"]) == (name in BATCH)


@pytest.mark.parametrize("name", CASES)
def test_the_key_is_granted_to_volumes_where_they_have_it(matrix: dict[str, Templates], name: str) -> None:
    template = matrix[name]["Endpoint"]
    (config,) = [
        item["Properties"]
        for item in template["Resources"].values()
        if item["Type"] == "AWS::SageMaker::EndpointConfig"
    ]
    grants = [statement for statement in statements(template) if statement["Action"] == "kms:CreateGrant"]
    assert [grant["Resource"] for grant in grants] == ([config["KmsKeyId"]] if "KmsKeyId" in config else [])
    for grant in grants:
        assert grant["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}


def test_text_pulls_the_published_container_and_no_other(templates: dict[str, Templates]) -> None:
    pulls = {
        flat(resource)
        for statement in statements(templates["text"]["Endpoint"])
        if "ecr:BatchGetImage" in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }
    assert pulls == {"arn:aws:ecr:eu-central-1:763104351884:repository/llama-cpp"}
    artifacts = [action for s in statements(templates["text"]["Artifacts"]) for action in listed(s["Action"])]
    assert not [action for action in artifacts if action.startswith(("ecr", "sts"))]


def test_only_the_image_build_pushes_and_it_stores_nothing_but_records_of_images(
    templates: dict[str, Templates],
) -> None:
    policies = [
        policy["Properties"]["PolicyDocument"]["Statement"]
        for policy in templates["dev"]["Artifacts"]["Resources"].values()
        if policy["Type"] == "AWS::IAM::Policy"
    ]
    actions = [set().union(*(listed(one["Action"]) for one in policy)) for policy in policies]
    assert len(actions) == 2
    (image,) = [role for role in actions if "ecr:PutImage" in role]
    (model,) = [role for role in actions if "ecr:PutImage" not in role]
    assert not [action for action in model if action.startswith("ecr")]
    assert {action for action in image if action.startswith("s3:")} == {
        *("s3:GetBucketAcl", "s3:GetBucketLocation"),
        *("s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket", "s3:PutObject"),
    }
    (listing,) = [
        statement
        for statement in policies[actions.index(image)]
        if "s3:ListBucket" in listed(statement["Action"])
    ]
    assert listing["Condition"] == {"StringLike": {"s3:prefix": ["images/*"]}}
    assert listed(listing["Action"]) == ["s3:ListBucket"]
    stored = [
        flat(resource)
        for statement in policies[actions.index(image)]
        if "s3:PutObject" in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    ]
    assert [resource.rpartition("}")[2] for resource in stored] == ["/images/*"]
    deletes = [action for role in actions for action in role if "Delete" in action]
    assert deletes == [], "neither an object nor one of its versions"
