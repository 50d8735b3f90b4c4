"""The list of all steps, in order. A new one is a function and an entry here, with the rows it moves."""

from semif.environment.environment import Environment
from semif.errors import SemifError
from semif.verify.phases.background import JOBS, QUEUE
from semif.verify.phases.decider import DECIDER
from semif.verify.phases.realtime import REALTIME
from semif.verify.phases.words import WORDS
from semif.verify.step import Phase, Step

PHASES = {"decision": (REALTIME, QUEUE, JOBS), "text": (WORDS,), "decider": (DECIDER,)}
"""By the environment's kind."""

ELSEWHERE = {
    "a model that llama.cpp does not survive": "would need a broken model among the presets",
    "an update without quota": "needs an account without quota; `semif verify` stops where there is none",
    "a tag resolved to one platform": "`semif image pin` asks the real registry, and deploys nothing",
    "our stacks on MiniStack": "is about an emulator, which `python -m bench.second_emulator` asks",
    "AWS's sample": "is about its files, which need no AWS",
    "builds in a VPC": "`deploy` builds as the file says; what a wall lets out is for its owner to see",
    "SageMaker's Model Registry": "keeps what it is given, and the approval is a person's",
    "SageMaker's SDK": "is a client's library: `ask` asks the same operation",
    "files of decisions": "are the client's: `ask` asks the same operation",
    "the constructs in another app": "is for that app to deploy",
    "`semif prune`": "deletes only what is old, which a new environment does not have",
    "`semif promote`": "needs a second environment, maybe of another account",
    "policies of `semif iam`": "needs credentials that have these and no others",
    "one question to a decision head on every wire": "is about the adapter alone, which `compare` asks",
    "existing buckets, an endpoint's own name": "would hold what a verification could not take away again",
    "the end of a throw-away endpoint": "is hours away; `semif status` tells whether it came",
    "a budget": "counts once its tag is activated in billing, and a day late",
    "prices from the price list": "are told by `semif status`, and need no deployment",
    "speed beside named baselines": "is measured on an instance, by `make bench`",
}
"""Rows that name AWS and that no step moves, each with the reason."""


def phases_of(environment: Environment) -> tuple[Phase, ...]:
    """What is walked for `environment`. Raises SemifError where it has a mode of its own."""
    if environment.endpoint.mode != "realtime":
        raise SemifError(
            f"{environment.name} {environment.inference_mode.manner}; verify a realtime environment with its "
            "model and instance type, which goes through the other modes too"
        )
    return PHASES[environment.kind]


def shown_steps(phases: tuple[Phase, ...], environment: Environment, *, local: bool) -> list[Step]:
    """The steps that will be run."""
    return [
        step
        for phase in phases
        for step in phase.steps
        if step.not_for(environment) is None and (step.faithful_locally or not local)
    ]
