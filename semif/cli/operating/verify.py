"""`semif verify`: the whole of an environment proved on AWS, and taken away again."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import click

from semif.aws.clients import Aws
from semif.aws.stacks import which_exist
from semif.cli.deployment_steps import sole_work
from semif.cli.options import NumberRange, environment_argument, steps_on_stderr, target_options
from semif.errors import SemifError
from semif.project.root import project_root
from semif.project.whole_files import check_writable
from semif.target import local_server
from semif.target.target import open_target
from semif.verify.meter import Meter
from semif.verify.plan import Plan, make_plan
from semif.verify.report import write_report
from semif.verify.walk import Walk

_REPORTS = Path(".semif") / "verify"
_ENDS = (signal.SIGTERM, signal.SIGHUP)


@click.command()
@environment_argument
@click.option(
    "--max-cost",
    type=NumberRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="USD",
    help="Stop before the instances have cost so much.",
)
@click.option(
    "--max-minutes",
    type=NumberRange(min=0, min_open=True),
    default=360.0,
    show_default=True,
    metavar="MINUTES",
    help="Stop before so much time has gone by.",
)
@click.option(
    "--tolerance",
    type=NumberRange(min=0, max=1),
    default=0.02,
    show_default=True,
    help="How far a probability may be from this machine's.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where the report goes; default: .semif/verify.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@target_options
def command(
    *,
    environment: str,
    max_cost: float,
    max_minutes: float,
    tolerance: float,
    output: Path | None,
    yes: bool,
    on_this_machine: bool,
    profile: str | None,
) -> None:
    """Prove all of ENV on AWS, and take it away.

    Makes an environment verify-ENV from ENV's file, which is not touched: deploys it, asks it, compares the
    numbers with this machine's adapter on the same file, reads its log, moves it to another setting, sets an
    alarm off and sees it go back, reads its figures, scales it, overloads it; then the same model behind a
    queue, and in a transform job. At last, and whatever happens, it destroys all of that. It says first what
    it makes and costs, and asks.

    The result is a dated report, as Markdown and as JSON: what AWS's documentation says of each step, what
    was seen, and which rows of docs/measured/verification.md may move. With --local it runs on the AWS of
    this machine, and the report says of each step that would not be shown faithfully there why not.

    The exit status is 0 where all was seen, 1 after a surprise or at a ceiling, 2 where something could not
    be taken away: it is told what. Ctrl-C takes everything away too; a second one leaves it.

    \b
    Examples:
      semif verify demo --local
      semif verify dev --max-cost 5 --max-minutes 300
    """
    root = project_root()
    folder = output or root / _REPORTS
    check_writable(folder / "report.md")
    with sole_work(on_this_machine=on_this_machine):
        plan = make_plan(environment, local=on_this_machine, profile=profile, tolerance=tolerance)
        plan.check(max_usd=max_cost, max_minutes=max_minutes)
        place = "" if on_this_machine else _place(plan)
        for line in plan.lines(max_usd=max_cost, max_minutes=max_minutes):
            click.echo(line, err=True)
        if not yes:
            click.confirm(f"Go on{place}?", abort=True, err=True)
        with _aws(plan, root) as aws:
            _refuse_leftovers(plan, aws)
            meter = Meter(usd_per_hour=plan.usd_per_hour, max_usd=max_cost, max_seconds=max_minutes * 60)
            found = _walked(plan, meter, aws, folder)
    raise click.exceptions.Exit(found.exit_status)


def _place(plan: Plan) -> str:
    """Where in AWS. Raises SemifError for credentials that do not work, or are not of the file's account."""
    target = open_target(plan.bench.of, on_this_machine=False, profile=plan.bench.profile)
    return f" in account {target.account}, {target.aws.region}"


def _refuse_leftovers(plan: Plan, aws: Aws) -> None:
    """Raise SemifError where stacks of an earlier verification are there, of another checkout perhaps."""
    made = plan.environment.model_copy(update={"name": plan.bench.name})
    if there := which_exist(aws, (made.artifacts_stack, made.endpoint_stack)):
        raise SemifError(
            f"{', '.join(there)} is there already, of a verification that runs or was cut off; wait for its "
            "end, or delete the stacks"
        )


def _walked(plan: Plan, meter: Meter, aws: Aws, folder: Path) -> Walk:
    """The walk and its report, which is written however it ends."""
    steps = steps_on_stderr()

    @contextmanager
    def showing(title: str) -> Iterator[Callable[[str], None]]:
        with steps.step(title) as step:
            yield step.tell

    found = Walk(plan, meter, showing)
    try:
        found.go()
    except (KeyboardInterrupt, SystemExit):
        if not found.left:
            raise
    finally:
        _tell(found, write_report(folder, found, now=datetime.now(UTC), region=aws.region))
    return found


def _tell(found: Walk, paths: tuple[Path, Path]) -> None:
    for outcome in found.outcomes:
        click.echo(f"{outcome.status}: {outcome.step.name}: {outcome.detail}")
    if found.left:
        click.echo("left, and not taken away:")
        for line in found.left:
            click.echo(f"  {line}")
    for path in paths:
        click.echo(str(path))


@contextmanager
def _aws(plan: Plan, root: Path) -> Iterator[Aws]:
    """The AWS to work on; that of this machine is started, and stopped where nothing else is on it.

    The end of this process by a signal is one that the clean-up sees. What is ignored (`nohup`) stays so.
    """
    ends = [number for number in _ENDS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _stop) for number in ends}
    try:
        if not plan.bench.local:
            yield Aws.from_profile(region=plan.environment.region, profile=plan.bench.profile)
            return
        server = local_server.ensure_server(root, region=plan.environment.region, tied=True)
        try:
            yield server.aws()
        finally:
            with suppress(SemifError):
                if not local_server.holds_stacks(server.aws()):
                    local_server.stop_server(root)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
