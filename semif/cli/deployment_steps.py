"""The chain of a deployment as steps on the screen; `semif deploy` and `semif demo` walk it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from rich.markup import escape
from rich.table import Table

from semif.aws.clients import aws_errors
from semif.builds.codebuild import StartedBuild
from semif.builds.environment_builds import build_environment
from semif.builds.promotion import promoted_lock
from semif.cli.steps import Step, Steps
from semif.client.chat import Completion
from semif.client.reply import WireAnswer
from semif.deployment import stages
from semif.deployment.endpoint.expiry import deployed_expiry, expiry_words
from semif.deployment.endpoint.watch import EndpointLook, OnLook
from semif.deployment.first_answer import first_answer
from semif.deployment.target_cdk import OnLine
from semif.environment.cost import instance_cost
from semif.environment.environment import Environment, load_environment
from semif.errors import ProblemsError, SemifError
from semif.lock.lock_file import Lock, UnbuiltImage
from semif.project.root import project_root
from semif.target import local_server
from semif.target.account import check_account
from semif.target.existing import existing_problems
from semif.target.prices import current_prices
from semif.target.published_image import published_image_problems
from semif.target.target import Target, open_target


def sole_work(*, on_this_machine: bool) -> AbstractContextManager[None]:
    """Where a command changes things: on this machine it works alone, in AWS CloudFormation sees to that."""
    return local_server.sole_command(project_root()) if on_this_machine else nullcontext()


def start_local(steps: Steps, name: str, *, tied: bool = False) -> Target:
    """The target `name` on this machine, whose AWS is started where it does not run; see `ensure_server`."""
    environment = load_environment(name)
    if environment.preset is None:
        raise SemifError(
            f"the container of {name} downloads its model from Hugging Face, which the AWS on this machine "
            "does not do; leave --local out, or pin the model as a preset"
        )
    root = project_root()
    verb = "start" if local_server.find_server(root) is None else "use"
    with steps.step(f"{verb} the AWS on this machine") as step:
        step.note = local_server.ensure_server(root, region=environment.region, tied=tied).endpoint_url
    return open_target(name, on_this_machine=True)


def deploy_chain(steps: Steps, target: Target, *, recreate: bool = False) -> WireAnswer | Completion | None:
    """Artifacts, builds, endpoint and a first answer. Raises SemifError at the first step that fails.

    A lock that was promoted is deployed as it is, and nothing is built.

    With `recreate` an endpoint that is there is deleted first; see `stages.deploy_endpoint`.

    In an account the first step is a look at whether it can succeed; nothing is made where it cannot.
    """
    target.refuse_example()
    target.environment.check_bases()  # without a pinned one, better told now than by the synthesis
    if not target.local:  # this machine answers with a library of its own
        target.environment.check_head()
    _prepare_account(steps, target)
    if target.environment.preset is not None:
        with steps.step(f"deploy {target.environment.artifacts_stack}") as step:
            stages.deploy_artifacts(target, step.tell)
    promoted = promoted_lock(target)
    if promoted is None:
        build_step(steps, target)
    else:
        with steps.step("take the image and the model that were promoted") as step:
            step.note = f"built in {promoted.origin.environment}"
    return endpoint_steps(steps, target, partial(stages.deploy_endpoint, target, recreate=recreate))


def endpoint_steps(
    steps: Steps, target: Target, deploy: Callable[[OnLine, OnLook], Lock]
) -> WireAnswer | Completion | None:
    """The Endpoint stack, which `deploy` deploys, and a first answer.

    None where there is no endpoint: a first job would take minutes, and its instance be billed.
    """
    with steps.step(f"deploy {target.environment.endpoint_stack}") as step:
        display = _EndpointDisplay(step)
        deploy(display.on_line, display.on_look)
        step.note = target.environment.endpoint_name
        if target.environment.endpoint.expires_after_hours and (expiry := deployed_expiry(target)):
            step.note += f", deleted {expiry_words(expiry)}"
    if not target.environment.inference_mode.has_endpoint:
        return None
    with steps.step("ask for a first answer"):
        return first_answer(target)


def _prepare_account(steps: Steps, target: Target) -> None:
    place = f"account {target.account}, {target.aws.region}"
    if target.local:
        with steps.step("prepare the account for the CDK") as step:
            stages.bootstrap_local(target, step.tell)
            step.note = place
        with aws_errors():
            problems = [
                line for _, found in existing_problems(target.aws, target.environment) for line in found
            ]
            problems += published_image_problems(target.aws, target.environment)
        if problems:
            raise ProblemsError(place, problems)
        return
    with steps.step("check bootstrap and quotas") as step:
        check = check_account(target.aws, target.environment)
        step.note = place
        if check.problems:
            raise ProblemsError(place, check.problems)
    for line in instance_cost(target.environment, current_prices(target)).lines:
        steps.console.print(f"       cost: {escape(line)}", soft_wrap=True)
    # Whether the endpoint has to move at all is known when the stack is synthesised.
    _warn(steps, [*check.warnings, *check.update_problems])


def _warn(steps: Steps, warnings: Sequence[str]) -> None:
    for warning in warnings:
        steps.console.print(f"       [yellow]warning[/] {escape(warning)}", soft_wrap=True)


def build_step(steps: Steps, target: Target) -> Lock:
    """The builds as one step, each with its phase and its last log lines."""
    notes: list[str] = []
    with steps.step(_build_title(target.environment)) as step:
        lock = build_environment(target, _BuildDisplay(step), notes.append)
        unbuilt = (
            ", no image: there is no container engine here" if isinstance(lock.image, UnbuiltImage) else ""
        )
        step.note = f"{target.lock_path.relative_to(target.root)}{unbuilt}"
    for note in notes:
        steps.console.print(f"       [yellow]note[/] {escape(note)}", soft_wrap=True)
    return lock


def _build_title(environment: Environment) -> str:
    if environment.preset is None:
        return "pin the published image"
    return "build the image and the model" if environment.serving_kind.runs_adapter else "build the model"


class _EndpointDisplay:
    """Shows what the endpoint is like while it is deployed: on a terminal always, elsewhere each change."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._event = ""
        self._look: EndpointLook | None = None

    def on_line(self, line: str) -> None:
        """Show the CDK's line under what the endpoint is like."""
        if text := " ".join(line.split()):
            self._event = text
            self._show()

    def on_look(self, look: EndpointLook) -> None:
        """Show `look`."""
        if self._look is None or look.summary != self._look.summary:
            self._step.log(f"endpoint: {look.summary} ({look.seconds:.0f} s)")
        self._look = look
        self._show()

    def _show(self) -> None:
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, overflow="ellipsis")
        if self._look is not None:
            table.add_row(f"endpoint: [bold]{escape(self._look.summary)}[/], {self._look.seconds:.0f} s")
        table.add_row(f"[dim]{escape(self._event)}[/]")
        self._step.show(table)


class _BuildDisplay:
    """Shows the running builds on a terminal, and each phase once elsewhere."""

    LOG_LINES = 3

    def __init__(self, step: Step) -> None:
        self._step = step
        self._phases: dict[str, str] = {}

    def __call__(self, builds: Sequence[StartedBuild]) -> None:
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, min_width=len("image"))
        table.add_column(no_wrap=True, overflow="ellipsis")
        for build in builds:
            table.add_row(build.name, f"[bold]{build.phase.lower().replace('_', ' ')}[/]")
            for line in list(build.lines)[-self.LOG_LINES :]:
                table.add_row("", f"[dim]{escape(line)}[/]")
            if self._phases.get(build.name) != build.phase:
                self._phases[build.name] = build.phase
                self._step.log(f"{build.name}: {build.phase}")
        self._step.show(table)
