"""What is seen of an endpoint that changes: an update, a rollback on an alarm, scaling, and its figures."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from semif.aws.clients import aws_errors
from semif.client.errors import DecisionError
from semif.deployment import stages
from semif.deployment.endpoint.baking_probe import TAKING_OVER
from semif.deployment.endpoint.watch import EndpointLook
from semif.deployment.kinds import DEPLOYED_KINDS
from semif.errors import SemifError
from semif.sagemaker.update_strategies import ROLLBACK_ALARMS
from semif.target.endpoint_state import EndpointState, find_endpoint
from semif.target.target import Target
from semif.verify import forms
from semif.verify.step import Bench, SurpriseError
from semif_adapter.contract import figures

UPDATED, BROKEN = {"turn_tokens": 128}, {"turn_tokens": 64}
"""Settings that make the endpoint move and change no number of an answer."""
ALARM = "container-errors"
"""The rollback alarm that is set off."""
_SCALE_SECONDS = 2400.0
_FIGURES_SECONDS = 900.0
_LOAD_THREADS = 4
assert ALARM in ROLLBACK_ALARMS


def update(bench: Bench) -> str:
    """Another setting: the endpoint moves to another configuration, and answers all the while."""
    bench.write(forms.with_setting(bench.tables, **UPDATED))
    target = bench.target()
    before, seen = _serving(target), _Looks(bench)
    with _asked(target) as asked:
        stages.deploy_endpoint(target, bench.tell, seen)
    after = _serving(target)
    if after.config == before.config:
        raise SurpriseError(f"the endpoint still has the configuration {before.config}")
    if asked.failures:
        raise SurpriseError(
            f"{len(asked.failures)} of {asked.count} requests failed meanwhile, "
            f"the last: {asked.failures[-1]}"
        )
    if not TAKING_OVER.intersection(seen.stages):
        raise SurpriseError(f"no stage of {', '.join(sorted(TAKING_OVER))} was seen, only {seen.words}")
    return f"{seen.words}; {asked.count} requests meanwhile, all answered"


def rollback(bench: Bench) -> str:
    """An update during which an alarm goes off: the endpoint goes back by itself."""
    target = bench.target()
    before = _serving(target)
    bench.write(forms.with_setting(bench.tables, **BROKEN))
    target = bench.target()
    seen = _Looks(bench, partial(_set_off, target))
    try:
        _ = target.aws.cloudwatch  # making clients is not thread-safe, using them is
        stages.deploy_endpoint(target, bench.tell, seen)
    except SemifError as error:
        reason = str(error).splitlines()[0]
    else:
        raise SurpriseError(f"the update went through though {ALARM} was in ALARM; {seen.words}")
    finally:
        bench.write(forms.with_setting(bench.tables, **UPDATED))
    after = _serving(target)
    if after.config != before.config or after.status != "InService":
        raise SurpriseError(
            f"the endpoint is {after.status} on {after.config}, before it was {before.config}"
        )
    return f"back on its configuration, {after.status}; {seen.words}; the command said: {reason}"


def scale(bench: Bench) -> str:
    """Load beyond the target: a second instance comes."""
    target = bench.target()
    began = time.monotonic()
    with _asked(target, threads=_LOAD_THREADS):
        bench.wait(
            f"a fleet of {forms.MOST_INSTANCES}",
            lambda: _serving(target).instances >= forms.MOST_INSTANCES,
            seconds=_SCALE_SECONDS,
            poll_seconds=target.poll_seconds,
        )
    return f"{forms.MOST_INSTANCES} instances after {time.monotonic() - began:,.0f} s under load"


def read_figures(bench: Bench) -> str:
    """SageMaker's figures and the adapter's own are in CloudWatch under the names that alarms use."""
    target = bench.target()
    missing = {name: partial(_has_figure, target, *place) for name, place in _figures(target)}
    count = len(missing)

    def found_all() -> bool:
        for name in [name for name, look in missing.items() if look()]:
            del missing[name]
        return not missing

    try:
        bench.wait(
            "the figures", found_all, seconds=_FIGURES_SECONDS, poll_seconds=max(target.poll_seconds, 30.0)
        )
    except SurpriseError:
        raise SurpriseError(f"CloudWatch has no {', '.join(missing)} of the endpoint") from None
    return f"{count} figures have values"


def _figures(target: Target) -> Iterator[tuple[str, tuple[str, str, dict[str, str]]]]:
    name = target.environment.endpoint_name
    variant = {"EndpointName": name, "VariantName": _serving(target).variant}
    for metric in ("Invocations", "ModelLatency", "OverheadLatency"):
        yield metric, ("AWS/SageMaker", metric, variant)
    yield "CPUUtilization", ("/aws/sagemaker/Endpoints", "CPUUtilization", variant)
    for figure in (figures.REQUESTS_2XX, figures.DECISIONS, figures.ENGINE_READY):
        yield figure.name, (figures.NAMESPACE, figure.name, {figures.ENDPOINT_DIMENSION: name})


def _has_figure(target: Target, namespace: str, metric: str, dimensions: dict[str, str]) -> bool:
    now = datetime.now(UTC)
    with aws_errors():
        found = target.aws.cloudwatch.get_metric_statistics(
            Namespace=namespace,
            MetricName=metric,
            Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
            StartTime=now - timedelta(hours=3),
            EndTime=now,
            Period=60,
            Statistics=["SampleCount"],
        )
    return bool(found["Datapoints"])


def _set_off(target: Target, look: EndpointLook) -> None:
    """Put the alarm into ALARM, again at each look while the new fleet is watched.

    A metric alarm soon returns to its own state, often within seconds (SetAlarmState, CloudWatch's API
    reference, read 2026-11-30). Whether SageMaker sees so short an alarm is part of what this shows.
    """
    if not TAKING_OVER.intersection(look.stages):
        return
    with suppress(SemifError), aws_errors():  # a look must not raise; without ALARM the step is a surprise
        target.aws.cloudwatch.set_alarm_state(
            AlarmName=f"{target.environment.endpoint_name}-{ALARM}",
            StateValue="ALARM",
            StateReason="semif verify",
        )


def _serving(target: Target) -> EndpointState:
    state = find_endpoint(target.aws, target.environment.endpoint_name)
    if state is None:
        raise SurpriseError(f"there is no endpoint {target.environment.endpoint_name}")
    return state


class _Looks:
    """Notes what an endpoint went through; `also` is told of each look."""

    def __init__(self, bench: Bench, also: Callable[[EndpointLook], None] = lambda _: None) -> None:
        self._bench, self._also = bench, also
        self.statuses: dict[str, float] = {}
        self.stages: set[str] = set()

    def __call__(self, look: EndpointLook) -> None:
        self.statuses.setdefault(", ".join([look.status, *look.stages]), look.seconds)
        self.stages.update(look.stages)
        self._bench.tell(look.summary)
        self._also(look)

    @property
    def words(self) -> str:
        return "; ".join(f"{status} at {seconds:.0f} s" for status, seconds in self.statuses.items())


class _Asked:
    """Requests that were sent meanwhile."""

    def __init__(self) -> None:
        self.count = 0
        self.failures: list[str] = []


@contextmanager
def _asked(target: Target, *, threads: int = 1) -> Iterator[_Asked]:
    """Ask small requests until the block ends, one after the other in each of `threads`."""
    asked, end = _Asked(), threading.Event()
    client, body = target.decision_client(), DEPLOYED_KINDS[target.environment.kind].smoke_request

    def ask() -> None:
        while not end.is_set():
            try:
                client.ask(body)
            except DecisionError as error:
                asked.failures.append(str(error))
            asked.count += 1
            end.wait(0.2 if threads == 1 else 0)

    workers: Sequence[threading.Thread] = [threading.Thread(target=ask, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    try:
        yield asked
    finally:
        end.set()
        for worker in workers:
            worker.join(75.0)
