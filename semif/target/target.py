"""Where a command works: one environment, in the AWS account that the credentials open or on this machine."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from semif.aws.clients import Aws
from semif.client.client import DecisionClient
from semif.client.retry import QUEUEING, Attempt, Retry
from semif.client.transports.open_transport import CONNECTIONS
from semif.environment.environment import Environment, load_environment
from semif.errors import SemifError
from semif.lock.check import check_lock
from semif.lock.lock_file import LOCAL_ACCOUNT, Lock, lock_path, read_lock
from semif.project.root import project_root
from semif.target import local_server
from semif.target.account import account_problem


@dataclass(frozen=True)
class Target:
    """An environment and the AWS that holds it."""

    root: Path
    environment: Environment
    aws: Aws
    account: str
    lock_path: Path
    local: bool
    poll_seconds: float
    """How long to wait between two looks at something that takes its time."""

    @property
    def command_line(self) -> str:
        """How a command names this target, for messages: `dev`, `demo --local`."""
        return self.environment.name + (" --local" if self.local else "")

    @property
    def previous_lock_path(self) -> Path:
        """Where the lock is kept that the present one replaced: `dev.previous.lock.json`."""
        return self.lock_path.with_name(f"{self.environment.name}.previous.lock.json")

    @property
    def noted_lock_path(self) -> Path:
        """Where what is in service is noted while a deployment replaces it: `dev.noted.previous.lock.json`.

        Git ignores it by the pattern of the previous one, and pruning keeps what it names.
        """
        return self.lock_path.with_name(f"{self.environment.name}.noted.previous.lock.json")

    def decision_client(
        self, on_attempt: Callable[[Attempt], object] = lambda _: None, *, connections: int = CONNECTIONS
    ) -> DecisionClient:
        """Asks the endpoint, with so many requests out at once."""
        return DecisionClient(
            self.environment.endpoint_name,
            sagemaker_runtime=self.aws.sagemaker_runtime,
            retry=QUEUEING if self.environment.serving_kind.queues else Retry(),
            on_attempt=on_attempt,
            connections=connections,
        )

    def cdk_context(self, stage: str) -> list[str]:
        """The CDK contexts that compose this target's stacks; `stage` is `artifacts` or `all`.

        With the account that was looked at before, the CDK refuses credentials of any other, wherever its
        command line may find some.
        """
        contexts = {
            "env": self.environment.name,
            "stage": stage,
            "lock": str(self.lock_path),
            "account": self.account,
        }
        return [part for key, value in contexts.items() for part in ("-c", f"{key}={value}")]

    def refuse_example(self) -> None:
        """Raise SemifError where the lock's place holds an example: it would be overwritten unseen."""
        try:
            example = read_lock(self.lock_path).example
        except SemifError:  # missing or broken: a build writes it anew, a reader says what is wrong with it
            return
        if example:
            raise SemifError(f"{self.lock_path} is an example for synth checks, not a lock; move it away")

    def read_lock(self) -> Lock:
        """The target's lock, checked against its environment, its preset and the account.

        Raises SemifError where there is none, and ProblemsError with all that does not fit.
        """
        if not self.lock_path.exists():
            raise SemifError(
                f"{self.lock_path} is missing; run `semif build {self.command_line}`, which writes it"
            )
        self.refuse_example()
        lock = read_lock(self.lock_path)
        self.check_lock(lock, source=self.lock_path)
        return lock

    def check_lock(self, lock: Lock, *, source: str | Path) -> None:
        """Check `lock` of `source` against environment, preset and account. Raises as `read_lock` does."""
        check_lock(lock, self.environment, source=source)
        if (lock.account, lock.region) != (self.account, self.aws.region):
            raise SemifError(
                f"{source} is of account {lock.account} in {lock.region}, the credentials are of "
                f"{self.account} in {self.aws.region}; use those, or run `semif build {self.command_line}`"
            )


def open_target(name: str, *, on_this_machine: bool, profile: str | None = None) -> Target:
    """The environment `name` with its AWS.

    Raises SemifError for an unknown environment, for credentials that do not work or are of another account
    than the environment names, and where nothing runs on this machine.
    """
    environment = load_environment(name)
    if on_this_machine and profile:
        raise SemifError("--profile opens an AWS account and --local needs none; leave one of them out")
    if on_this_machine:
        return _open_local(environment)
    aws = Aws.from_profile(region=environment.region, profile=profile)
    account = aws.account()
    _check_account(environment, account)
    return Target(project_root(), environment, aws, account, lock_path(name), local=False, poll_seconds=5.0)


def _open_local(environment: Environment) -> Target:
    root = project_root()
    _check_account(environment, LOCAL_ACCOUNT)
    server = local_server.find_server(root)
    if server is None or environment.region not in {None, server.region}:
        raise SemifError(
            f"nothing of {environment.name} is deployed on this machine; run "
            f"`semif deploy {environment.name} --local`"
        )
    path = local_server.lock_path(root, environment.name)
    return Target(root, environment, server.aws(), server.account, path, local=True, poll_seconds=0.2)


def _check_account(environment: Environment, account: str) -> None:
    if problem := account_problem(environment, account):
        raise SemifError(problem)
