"""Whether a deployment moves an endpoint, and what would refuse that: seen before the CDK deploys."""

import json
from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError

from semif.aws.clients import aws_errors
from semif.aws.stacks import find_stack, stack_template
from semif.deployment.endpoint.template import Template, configurations, instance_types
from semif.errors import ProblemsError
from semif.target.endpoint_state import EndpointState
from semif.target.quotas import check_quotas
from semif.target.target import Target


def check_update(target: Target, template: Template, running: EndpointState) -> None:
    """Hold `template`, of the Endpoint stack as it shall be, against the endpoint that is `running`.

    Raises ProblemsError with all that would make its update fail, or lose its instances.
    """
    if not _moves(target, template):
        return
    problems = [
        *_mode_problems(target, template, running),
        *_quota_problems(target, running),
        *_scaling_problems(target, template, running),
    ]
    if problems:
        raise ProblemsError(f"the update of {running.name}", problems)


def _moves(target: Target, template: Template) -> bool:
    """Whether the endpoint gets another configuration: they cannot be changed, only replaced."""
    stack = find_stack(target.aws, target.environment.endpoint_stack)
    return stack is not None and configurations(stack_template(target.aws, stack.name)) != configurations(
        template
    )


def _mode_problems(target: Target, template: Template, running: EndpointState) -> Iterator[str]:
    """SageMaker's rule on the queue of an endpoint: it is there from the beginning, or never.

    "The AsyncInferenceConfig parameter cannot be removed from this endpoint" (its ValidationException, quoted
    in github.com/aws/sagemaker-python-sdk/pull/3124, read 2026-12-01).
    """
    wanted = any("AsyncInferenceConfig" in config for config in configurations(template).values())
    if wanted == running.asynchronous:
        return
    before, after = ("async", "realtime") if running.asynchronous else ("realtime", "async")
    yield (
        f"its mode changes from {before} to {after}, and SageMaker updates no endpoint from one to the "
        "other: give the new one another name (endpoint_name in [endpoint] of "
        f"environments/{target.environment.name}.toml), which is there before the old one goes; or, where "
        f"nobody needs an answer meanwhile, `semif deploy {target.command_line} --recreate`"
    )


def _quota_problems(target: Target, running: EndpointState) -> list[str]:
    if target.local:
        return []
    try:
        return check_quotas(target.aws, target.environment, running).update_problems
    except (
        ClientError,
        BotoCoreError,
    ):  # not to be looked up: `semif env check` warns, AWS may well allow it
        return []


def _scaling_problems(target: Target, template: Template, running: EndpointState) -> Iterator[str]:
    """Application Auto Scaling's rule on endpoints that it scales.

    "If the update would change the instance type for any model that is a target for auto scaling, the update
    fails": https://docs.aws.amazon.com/sagemaker/latest/dg/endpoint-scaling-update.html, read 2026-11-30. To
    deregister it here would leave CloudFormation with a target and policies that are not there any more.
    Types that nobody tells may be the same.
    """
    before, after = list(running.instance_types), instance_types(template)
    if not before or set(before) == set(after) or not _is_scaled(target, running):
        return
    name, file = target.command_line, f"environments/{target.environment.name}.toml"
    key = f"instance_pool = {json.dumps(before)}" if len(before) > 1 else f'instance_type = "{before[0]}"'
    count = max(running.desired_instances, 1)
    yield (
        f"its instance types change from {', '.join(before)} to {', '.join(after)} while Application Auto "
        "Scaling has it registered: SageMaker refuses that. Take the scaling off first: (1) write "
        f"{key} again in {file}, initial_instance_count = {count} and no [scaling], and run "
        f"`semif deploy {name}`; (2) write the new types and [scaling] again, and run `semif deploy {name}`. "
        f"Or, where nobody needs an answer meanwhile, `semif deploy {name} --recreate`"
    )


def _is_scaled(target: Target, running: EndpointState) -> bool:
    with aws_errors():
        reply = target.aws.application_autoscaling.describe_scalable_targets(
            ServiceNamespace="sagemaker", ResourceIds=[f"endpoint/{running.name}/variant/{running.variant}"]
        )
    return bool(reply["ScalableTargets"])
