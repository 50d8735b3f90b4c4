"""The walk through all steps: one after the other, under the ceilings, and at last the clean-up."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from semif.errors import SemifError
from semif.verify.cleanup import left_after_interrupt, remove_endpoint, take_away
from semif.verify.meter import CeilingError, Meter
from semif.verify.plan import Plan
from semif.verify.step import Outcome, Phase, Step, SurpriseError

Showing = Callable[[str], AbstractContextManager[Callable[[str], None]]]
"""Shows a title while the block runs, which gets what takes passing lines."""


@dataclass
class Walk:
    """A walk through the steps of `plan`, and what came of it so far: whole once it is over, however."""

    plan: Plan
    meter: Meter
    showing: Showing
    outcomes: list[Outcome] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What could not be taken away."""
    ended_by: str | None = None
    """Why it was over before its end."""

    @property
    def exit_status(self) -> int:
        """0: all was seen. 1: a surprise, or a ceiling. 2: something is left."""
        if self.left:
            return 2
        surprised = any(outcome.status == "surprise" for outcome in self.outcomes)
        return 1 if surprised or self.ended_by else 0

    def go(self) -> None:
        """Walk, and take away what was made, whatever happens.

        A step that fails is a surprise, after which the next goes on, unless it was its phase's deployment.
        What ends the process (KeyboardInterrupt, SystemExit) is raised again after the clean-up.
        """
        try:
            for number, phase in enumerate(self.plan.phases):
                self._walk_phase(phase, first=number == 0)
        except CeilingError as error:
            self.ended_by = str(error)
        except BaseException as error:
            self.ended_by = f"it was stopped ({type(error).__name__})"
            raise
        finally:
            self.outcomes += self._not_run()
            self._clean_up()

    def _walk_phase(self, phase: Phase, *, first: bool) -> None:
        bench, broken = self.plan.bench, None
        for step in phase.steps:
            outcome = self._without_running(step, broken)
            if outcome is None:
                deploys = step is phase.steps[0]
                with self.meter.running(step.instances):
                    outcome = self._run(step, phase if deploys else None, first=first)
                if deploys and outcome.status == "surprise":
                    broken = f"the step before, {step.name}, did not succeed"
            self.outcomes.append(outcome)
            bench.tell = lambda _: None

    def _without_running(self, step: Step, broken: str | None) -> Outcome | None:
        if (reason := step.not_for(self.plan.environment)) is not None:
            return Outcome(step, "does not apply", reason)
        if self.plan.bench.local and step.not_local is not None:
            return Outcome(step, "not shown here", step.not_local)
        return None if broken is None else Outcome(step, "not run", broken)

    def _run(self, step: Step, deployed: Phase | None, *, first: bool) -> Outcome:
        """Run `step`, which deploys the phase `deployed` where that is one."""
        began, bench = time.monotonic(), self.plan.bench
        try:
            with self.showing(step.name) as bench.tell:
                if deployed is not None:
                    if not first:
                        remove_endpoint(bench)
                    bench.write(deployed.form(bench.tables))
                seen = step.run(bench)
        except SurpriseError as error:
            return Outcome(step, "surprise", str(error), time.monotonic() - began)
        except SemifError as error:
            return Outcome(step, "surprise", f"it failed: {error}", time.monotonic() - began)
        return Outcome(step, "seen", seen, time.monotonic() - began)

    def _not_run(self) -> Iterator[Outcome]:
        """The steps that were not come to."""
        steps = [step for phase in self.plan.phases for step in phase.steps]
        for step in steps[len(self.outcomes) :]:
            yield Outcome(step, "not run", self.ended_by or "the walk ended before it")

    def _clean_up(self) -> None:
        bench = self.plan.bench
        try:
            instances = max(step.instances for phase in self.plan.phases for step in phase.steps)
            with self.meter.billing(instances), self.showing("take everything away") as bench.tell:
                self.left = take_away(bench)
        except BaseException:
            self.left = left_after_interrupt(bench)
            raise
