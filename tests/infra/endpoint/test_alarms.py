"""Who is told of what: alarms by serving path, their topic, the dashboard, the log."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk.assertions import Match, Template

from semif_adapter.contract import figures
from semif_constructs.signals.endpoint_metrics import EndpointMetrics
from semif_constructs.watching.endpoint_dashboard import EndpointDashboard
from semif_constructs.watching.request_alarms import RequestAlarms
from tests.infra.matrix import KEY_ARN, TOPIC_ARN, cases

Templates = dict[str, Any]
CASES = cases()
ALARM, DASHBOARD, TOPIC = "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", "AWS::SNS::Topic"
ADAPTERS = {metric.name for metric in figures.METRICS}
SAGEMAKERS = {
    "AWS/SageMaker": {
        *("ApproximateAgeOfOldestRequest", "ApproximateBacklogSize", "ApproximateBacklogSizePerInstance"),
        "ConcurrentRequestsPerModel",
        *("HasBacklogWithoutCapacity", "Invocation4XXErrors", "Invocation5XXErrors", "InvocationFailures"),
        *("InvocationModelErrors", "Invocations", "InvocationsProcessed", "ModelLatency", "OverheadLatency"),
    },
    "/aws/sagemaker/Endpoints": {
        *("CPUUtilization", "DiskUtilization", "GPUMemoryUtilization", "GPUUtilization", "MemoryUtilization"),
    },
}
"""What SageMaker's developer guide lists (pages "Metrics for monitoring" and "Alarms and logs")."""


def alarms_of(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Alarms by the end of their names, which begin with the endpoint's."""
    found = {}
    for item in template["Resources"].values():
        if item["Type"] == ALARM:
            name = item["Properties"]["AlarmName"]
            found[name] = item
    return found


def metrics_of(node: Any) -> set[tuple[str, str]]:
    """Namespace and name of every metric of alarms."""
    if isinstance(node, list):
        return set().union(*map(metrics_of, node))
    if not isinstance(node, dict):
        return set()
    own = {(node["Namespace"], node["MetricName"])} if "MetricName" in node else set()
    return own.union(*map(metrics_of, node.values()))


def body_of(template: dict[str, Any]) -> dict[str, Any]:
    """The dashboard, with a word where CloudFormation fills something in."""
    (dashboard,) = [item for item in template["Resources"].values() if item["Type"] == DASHBOARD]
    body = dashboard["Properties"]["DashboardBody"]
    parts = body["Fn::Join"][1] if isinstance(body, dict) else [body]
    filled = "".join(part if isinstance(part, str) else "filled-in" for part in parts)
    read: dict[str, Any] = json.loads(filled)
    return read


def shown_in(template: dict[str, Any]) -> set[tuple[str, str]]:
    """Namespace and name of every metric of the dashboard; a dot repeats the one before."""
    found, last = set(), ("", "")
    for widget in body_of(template)["widgets"]:
        for metric in widget["properties"].get("metrics", []):
            if isinstance(metric[0], str):
                last = tuple(old if new == "." else new for new, old in zip(metric[:2], last, strict=True))
                found.add(last)
    return found


def assert_known(found: set[tuple[str, str]]) -> None:
    for namespace, name in found:
        known = ADAPTERS if namespace == figures.NAMESPACE else SAGEMAKERS[namespace]
        assert name in known, (namespace, name)


def test_the_alarms_of_a_decision_endpoint(templates: dict[str, Templates]) -> None:
    alarms = alarms_of(templates["prod"]["Endpoint"])
    assert set(alarms) == {
        f"semif-prod-{name}"
        for name in (
            *("allowed-token-mass", "container-errors", "model-latency", "no-healthy-instance"),
            *("overhead-latency", "platform-errors", "refusals"),
        )
    }
    assert_known(metrics_of(list(alarms.values())))
    latency = alarms["semif-prod-model-latency"]["Properties"]
    assert (latency["ExtendedStatistic"], latency["Threshold"]) == ("p95", 3_000_000)
    assert (latency["DatapointsToAlarm"], latency["EvaluationPeriods"], latency["Period"]) == (3, 5, 60)
    for item in alarms.values():
        properties = item["Properties"]
        assert properties["AlarmActions"] == properties["OKActions"] != []
        bad = "breaching" if properties["AlarmName"].endswith("no-healthy-instance") else "notBreaching"
        assert properties["TreatMissingData"] == bad


def test_refusals_are_no_faults(templates: dict[str, Templates]) -> None:
    faults = alarms_of(templates["prod"]["Endpoint"])["semif-prod-container-errors"]["Properties"]
    (expression,) = [query["Expression"] for query in faults["Metrics"] if "Expression" in query]
    assert expression == "100 * (failed - refused) / (good + wrong + failed)"
    names = {query["Id"]: query["MetricStat"]["Metric"]["MetricName"] for query in faults["Metrics"][1:]}
    assert names == {
        "failed": "Requests5xx",
        "good": "Requests2xx",
        "refused": "Overloads",
        "wrong": "Requests4xx",
    }
    for query in faults["Metrics"][1:]:
        dimensions = query["MetricStat"]["Metric"]["Dimensions"]
        assert dimensions == [{"Name": "Endpoint", "Value": "semif-prod"}]


@pytest.mark.parametrize("name", CASES)
def test_the_alarms_of_each_path(matrix: dict[str, Templates], name: str) -> None:
    template, case = matrix[name]["Endpoint"], CASES[name]
    alarms = alarms_of(template)
    both = {"container-errors", "model-latency", "no-healthy-instance", "overhead-latency", "platform-errors"}
    wanted = both if case["path"].startswith("text") else both | {"refusals"}
    if case["operation"] == "still":
        wanted = set()
    if asynchronous := case["mode"] == "async":
        scaling = {"scale-out", "scale-in", "idle"} | (
            {"scale-from-zero"} if case["operation"] == "zero" else set()
        )
        wanted = (wanted - {"model-latency", "overhead-latency"}) | {"backlog-age"} | scaling
    # The embedded model is read by its words: it has no letters whose mass could be low.
    assert set(alarms) == {f"semif-{name}-{alarm}" for alarm in wanted}
    assert_known(metrics_of(list(alarms.values())))
    (endpoint_id,) = Template.from_json(template).find_resources("AWS::SageMaker::Endpoint")
    for alarm_name, item in alarms.items():
        waits = endpoint_id in item.get("DependsOn", [])
        of_the_endpoint = alarm_name.endswith(("no-healthy-instance", "backlog-age"))
        assert waits == of_the_endpoint, "an alarm would go off before the start"
    assert_known(shown := shown_in(template))
    assert ("AWS/SageMaker", "ApproximateBacklogSize" if asynchronous else "Invocations") in shown
    assert ("/aws/sagemaker/Endpoints", "CPUUtilization") in shown
    gpu = {("/aws/sagemaker/Endpoints", metric) for metric in ("GPUUtilization", "GPUMemoryUtilization")}
    assert gpu & shown == (gpu if case["path"].endswith(("cuda", "fallback")) else set())
    adapters = {metric for namespace, metric in shown if namespace == figures.NAMESPACE}
    assert bool(adapters) != case["path"].startswith("text")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["mode"] == "realtime"])
def test_who_is_told(matrix: dict[str, Templates], name: str) -> None:
    operation, template = CASES[name]["operation"], Template.from_json(matrix[name]["Endpoint"])
    template.resource_count_is(TOPIC, 1 if operation == "canary" else 0)
    told = {
        json.dumps(action)
        for item in template.find_resources(ALARM).values()
        for action in item["Properties"]["AlarmActions"]
    }
    if operation == "still":
        assert not told
    elif operation == "rolling":
        assert told == {json.dumps(TOPIC_ARN)}
    else:
        (topic_id,) = template.find_resources(TOPIC)
        assert told == {json.dumps({"Ref": topic_id})}
        template.has_resource_properties(
            "AWS::SNS::TopicPolicy",
            {
                "PolicyDocument": {
                    "Statement": Match.array_with(
                        [
                            Match.object_like(
                                {
                                    "Action": "sns:Publish",
                                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                                    "Effect": "Deny",
                                }
                            ),
                            Match.object_like(
                                {
                                    "Action": "sns:Publish",
                                    "Condition": Match.object_like(
                                        {"StringEquals": {"aws:SourceAccount": "111122223333"}}
                                    ),
                                    "Effect": "Allow",
                                    "Principal": {"Service": "cloudwatch.amazonaws.com"},
                                }
                            ),
                        ]
                    )
                },
                "Topics": [{"Ref": topic_id}],
            },
        )


def test_the_dashboard_answers_at_a_glance(templates: dict[str, Templates]) -> None:
    body = body_of(templates["prod"]["Endpoint"])
    titles = [widget["properties"]["title"] for widget in body["widgets"]]
    assert titles[0] == "Alarms"
    assert len(body["widgets"][0]["properties"]["alarms"]) == 7
    assert_known(shown := shown_in(templates["prod"]["Endpoint"]))
    for name in ("QueueSeconds", "ScoreSeconds", "Overloads", "CachedTokens", "TokensPerSecond"):
        assert ("Semif", name) in shown
    assert ("AWS/SageMaker", "OverheadLatency") in shown
    places = [(widget["x"], widget["y"]) for widget in body["widgets"]]
    assert len(set(places)) == len(places)


def test_an_asynchronous_endpoint_is_watched_by_its_queue(stack: Stack) -> None:
    metrics = EndpointMetrics("semif-test")
    RequestAlarms(
        stack,
        "Alarms",
        asynchronous=True,
        error_percent=1,
        metrics=metrics,
        model_p95_seconds=1,
        overhead_seconds=1,
        refusal_percent=5,
    )
    EndpointDashboard(stack, "Dashboard", adapter=True, asynchronous=True, gpu=False, metrics=metrics)
    template = Template.from_stack(stack).to_json()
    alarms = alarms_of(template)
    assert set(alarms) == {
        *("semif-test-container-errors", "semif-test-platform-errors", "semif-test-refusals")
    }
    assert_known(metrics_of(list(alarms.values())) | shown_in(template))
    assert ("AWS/SageMaker", "InvocationFailures") in metrics_of(list(alarms.values()))
    unpublished = {"Invocations", "OverheadLatency", "ConcurrentRequestsPerModel"}
    assert not unpublished & {name for _, name in shown_in(template)}


@pytest.mark.parametrize("name", CASES)
def test_the_containers_log_outlives_the_endpoints_stack(matrix: dict[str, Templates], name: str) -> None:
    Template.from_json(matrix[name]["Endpoint"]).resource_count_is("AWS::Logs::LogGroup", 0)
    Template.from_json(matrix[name]["Artifacts"]).has_resource(
        "AWS::Logs::LogGroup",
        {
            "DeletionPolicy": "Delete",
            "Properties": {
                "KmsKeyId": KEY_ARN if CASES[name]["encrypted"] else Match.absent(),
                "LogGroupName": f"/aws/sagemaker/Endpoints/semif-{name}",
                "RetentionInDays": 90,
            },
        },
    )


def test_the_page_explains_every_alarm(root: Path, templates: dict[str, Templates]) -> None:
    page = (root / "docs" / "operations.md").read_text()
    told = set(re.findall(r"^\| `semif-NAME-([a-z-]+)` \|", page, re.MULTILINE))
    made = {name.removeprefix("semif-prod-") for name in alarms_of(templates["prod"]["Endpoint"])}
    assert told == made | {"backlog-age"}
