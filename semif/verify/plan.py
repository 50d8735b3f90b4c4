"""What a verification will make, how long it takes and what it costs: told before anything is made."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from semif.environment.environment import (
    Environment,
    environments_folder,
    load_environment,
)
from semif.errors import ProblemsError, SemifError, problems_of
from semif.sagemaker.instances import PRICES_OF
from semif.verify import forms
from semif.verify.meter import RESERVE_SECONDS
from semif.verify.phases import phases_of, shown_steps
from semif.verify.step import Bench, Phase, Step


@dataclass(frozen=True)
class Plan:
    """What is about to be done."""

    environment: Environment
    """The one that is proved."""
    bench: Bench
    phases: tuple[Phase, ...]
    steps: tuple[Step, ...]
    """Those that will be run."""
    usd_per_hour: float
    """Of an instance, on the dearest of the types; 0 on this machine."""

    @property
    def minutes(self) -> float:
        """How long it usually takes in an account, the clean-up included."""
        return sum(step.minutes for step in self.steps) + RESERVE_SECONDS / 60

    @property
    def usd(self) -> float:
        """What the instances cost in that time, at most."""
        hours = sum(step.minutes * step.instances for step in self.steps) / 60 + RESERVE_SECONDS / 3600
        return hours * self.usd_per_hour

    def check(self, *, max_usd: float, max_minutes: float) -> None:
        """Raise SemifError where it would not come to its end under the ceilings."""
        if self.bench.local:
            return
        if self.usd > max_usd:
            raise SemifError(
                f"{self.bench.of} needs about ${self.usd:,.2f}, --max-cost is ${max_usd:,.2f}; allow more, "
                "or verify an environment on a smaller instance"
            )
        if self.minutes > max_minutes:
            raise SemifError(
                f"{self.bench.of} needs about {self.minutes:,.0f} minutes, --max-minutes is "
                f"{max_minutes:,.0f}; allow more"
            )

    def lines(self, *, max_usd: float, max_minutes: float) -> Iterator[str]:
        """For people, before they are asked."""
        most = max(step.instances for step in self.steps)
        types = ", ".join(self.environment.endpoint.instance_types)
        yield (
            f"{self.bench.name} is made from environments/{self.bench.of}.toml, shown in {len(self.steps)} "
            "steps, and taken away: a bucket, builds, and one endpoint or job after the other, on up to "
            f"{most} of {types}. Nothing of {self.bench.of} itself is touched."
        )
        if self.bench.local:
            yield "All of it is on this machine and costs nothing."
            return
        yield (
            f"It takes about {self.minutes:,.0f} minutes and ${self.usd:,.2f} of instances "
            f"(${self.usd_per_hour:,.2f} an hour each, {PRICES_OF}; look yours up); builds, storage and logs "
            "come to cents."
        )
        yield (
            f"It stops, and takes everything away, before {max_minutes:,.0f} minutes or, at that price, "
            f"${max_usd:,.2f}."
        )


def make_plan(of: str, *, local: bool, profile: str | None, tolerance: float) -> Plan:
    """The plan for the environment `of`.

    Raises SemifError where it cannot be verified, and where an earlier verification left something; and
    ProblemsError for what a throw-away environment could not be.
    """
    forms.check_name(of)
    environment = load_environment(of)
    phases = phases_of(environment)
    if environment.preset is None and local:
        raise SemifError(
            f"the container of {of} downloads its model, which the AWS on this machine does not do; leave "
            "--local out"
        )
    with (environments_folder() / f"{of}.toml").open("rb") as file:
        tables = tomllib.load(file)
    bench = Bench(of, tables, local, profile, tolerance)
    if bench.path.exists():
        raise SemifError(
            f"{bench.path} is there, from a verification that was cut off; run `semif destroy {bench.name}`, "
            "then delete the file"
        )
    _check_forms(bench, environment, phases)
    price = 0.0 if local else forms.dearest_hour(environment)
    steps = shown_steps(phases, environment, local=local)
    return Plan(environment, bench, phases, tuple(steps), price)


def _check_forms(bench: Bench, environment: Environment, phases: tuple[Phase, ...]) -> None:
    """See that every form is a right environment, before the first is deployed."""
    for phase in phases:
        if phase.steps[0].not_for(environment) is not None:
            continue
        try:
            Environment.model_validate({**phase.form(bench.tables), "name": bench.name})
        except ValidationError as error:
            raise ProblemsError(f"{bench.name}, for {phase.steps[0].name}", problems_of(error)) from None
