"""Endpoints of every mode: deployed while they are watched, held against the lock."""

from abc import abstractmethod
from dataclasses import asdict
from functools import partial

from semif.aws.container_log import ContainerLog
from semif.aws.stacks import stack_resource
from semif.deployment.cdk import CdkError
from semif.deployment.endpoint.baking_probe import BakingProbe
from semif.deployment.endpoint.expiry import deployed_expiry, expiry_parameters, expiry_words, is_over
from semif.deployment.endpoint.update import check_update
from semif.deployment.endpoint.watch import EndpointWatch, OnLook
from semif.deployment.modes.mode import DeployedMode, Running
from semif.deployment.removal import remove_stack
from semif.deployment.rollback import keep_previous, note_serving, settled_lock
from semif.deployment.target_cdk import OnLine, deploy_stack, synthesised
from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.lock.lock_file import Lock
from semif.target.endpoint_state import EndpointState, find_endpoint
from semif.target.target import Target


class DeployedEndpoint(DeployedMode):
    """A mode with an endpoint."""

    @abstractmethod
    def probe(self, target: Target) -> object:
        """Ask the endpoint once, for the alarms to see how it does. Raises SemifError."""

    def deploy(self, target: Target, lock: Lock, on_line: OnLine, on_look: OnLook, *, recreate: bool) -> None:
        """Watch the endpoint meanwhile, to tell what CloudFormation does not.

        Where alarms can take an update back, it is asked small requests while new instances take over.
        """
        if target.environment.deployment is None:
            self._deploy(target, lock, on_line, on_look, recreate=recreate)
            return
        _ = target.aws.sagemaker_runtime, target.aws.s3  # making clients is not thread-safe, using them is
        with BakingProbe(partial(self.probe, target), on_look) as probe:
            self._deploy(target, lock, on_line, probe.on_look, recreate=recreate)
        if summary := probe.summary:
            on_line(summary)

    def _deploy(
        self, target: Target, lock: Lock, on_line: OnLine, on_look: OnLook, *, recreate: bool
    ) -> None:
        stack, name = target.environment.endpoint_stack, target.environment.endpoint_name
        with synthesised(target, "all", on_line) as assembly:
            before, serving = settled_lock(target), find_endpoint(target.aws, name)
            expired = serving is None and is_over(deployed_expiry(target))
            if expired:  # CloudFormation does not know that the endpoint is gone, and would not make it again
                on_line(f"{name} came to its end; its stack is made anew")
            anew = recreate or expired
            if serving is not None and not anew:
                check_update(target, assembly.template(stack), serving)
            # A lock that never came into service is nothing to go back to.
            if before is None or (serving is not None and _serves(target, serving, before)):
                note_serving(target, before)
            if anew:  # only now: a stack that cannot be synthesised takes nothing away
                remove_stack(target, stack, on_line)
            with EndpointWatch(target.aws, name, poll_seconds=target.poll_seconds, on_look=on_look) as watch:
                try:
                    deploy_stack(target, assembly, stack, on_line, expiry_parameters(target.environment))
                except CdkError as error:
                    raise SemifError("\n".join([str(error), *watch.what_went_wrong()])) from None
                # Now, since the stack forgets its former lock even where SageMaker does not follow it.
                keep_previous(target, lock)
                if problems := _problems(target, find_endpoint(target.aws, name), lock):
                    # Both may tell SageMaker's reason.
                    lines = dict.fromkeys([*problems, *watch.what_went_wrong()])
                    raise SemifError("\n".join(lines))

    def running(self, target: Target, lock: Lock | None) -> Running:
        """The endpoint."""
        endpoint = find_endpoint(target.aws, target.environment.endpoint_name)
        problems, rows = [], []
        if lock is not None:
            problems = _problems(target, endpoint, lock)
        elif endpoint is None:
            problems = [_missing(target)]
        if endpoint is not None:
            placed = " or ".join(endpoint.instance_types) or "types unknown"
            counts = f"{endpoint.instances} of {endpoint.desired_instances} instances"
            rows = [("endpoint", endpoint.name, f"{endpoint.status}, {counts}, {placed}")]
        facts = {"endpoint": None if endpoint is None else asdict(endpoint)}
        return Running(facts, rows, problems, "the endpoint runs what the lock pins")

    def log(self, environment: Environment) -> ContainerLog:
        """The endpoint's own."""
        return ContainerLog.of_endpoint(environment.endpoint_name)

    def end(self, target: Target, on_line: OnLine) -> None:
        """Nothing: the endpoint goes with its stack."""


def _serves(target: Target, state: EndpointState, deployed: Lock) -> bool:
    """Whether the endpoint runs the lock of its stack; where pins are unknown, the configuration tells."""
    return state.runs(deployed) if state.unknown is None else state.has_config(_stack_config(target))


def _stack_config(target: Target) -> str | None:
    return stack_resource(target.aws, target.environment.endpoint_stack, "AWS::SageMaker::EndpointConfig")


def _problems(target: Target, state: EndpointState | None, lock: Lock) -> list[str]:
    """Why the endpoint, which is in `state`, is not a healthy one of `lock` and its stack."""
    if state is None:
        return [_missing(target)]
    problems = list(state.problems(lock, stack_config=_stack_config(target)))
    # CloudFormation does not see what was done to an endpoint by hand, and would leave it as it is.
    anew = [f"`semif deploy {target.command_line} --recreate` makes it anew"] if state.unknown else []
    return [*problems, *anew]


def _missing(target: Target) -> str:
    """That there is no endpoint, and why where that is known."""
    line, expiry = f"there is no endpoint {target.environment.endpoint_name}", deployed_expiry(target)
    if expiry is None or not is_over(expiry):
        return line
    anew = f"`semif deploy {target.command_line}` makes it anew"
    return f"{line}: it came to its end ({expiry_words(expiry)}); {anew}"
