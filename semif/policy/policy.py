"""`Policy`: when an answer is good enough to act on, and what is done otherwise. See docs/policy.md."""

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Self, cast

from pydantic import Field, ModelWrapValidatorHandler, StringConstraints, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from semif.client.errors import DecisionError
from semif.client.results import DecisionResult
from semif.policy.conditions import Condition
from semif.policy.deliberation import Endpoint, Reply, check_asking, deliberate, run, run_async, unanswered
from semif.policy.outcome import Outcome
from semif.policy.problems import problems_together
from semif.policy.rules import MAX_RULES, Fallback, Name, Rule, Veto
from semif_adapter.contract.wire import MAX_OPTIONS, Identifier, WireModel

if TYPE_CHECKING:
    from semif.client.async_client import AsyncDecisionClient
    from semif.client.client import DecisionClient
    from semif.client.request import OrderDebiasing, State

NOBODY: Mapping[str, Any] = MappingProxyType({})
Probability = Annotated[float, Field(ge=0, le=1)]


class Policy(WireModel):
    """What an application makes of a model's answers. It speaks of what is proposed, never of who may act.

    Read from a file with `load_policy`, or made in code. Raises ValidationError with all problems at once.
    """

    name: Name
    """Every outcome names it."""
    description: Annotated[str, StringConstraints(max_length=2000)] = ""
    """For people: where the thresholds come from, say."""
    thresholds: Annotated[dict[Identifier, Probability], Field(min_length=2, max_length=MAX_OPTIONS)]
    """The options that the policy knows, and the probability from which each is accepted; 0: any."""
    min_margin: Probability = 0.0
    """How far the choice must be ahead of the next option, as a difference of probabilities. A tie never
    passes."""
    min_allowed_token_mass: Probability | None = None
    """The least share of the model's whole probability on the options' letters. Where the model tells none
    (the text readout), no answer passes: leave it out for such a model."""
    rules: Annotated[tuple[Rule, ...], Field(strict=False, max_length=MAX_RULES)] = ()
    """Before the model; the first that holds decides."""
    vetoes: Annotated[tuple[Veto, ...], Field(strict=False, max_length=MAX_RULES)] = ()
    """After it, on every option that would be the outcome; the first that holds decides."""
    fallback: Fallback = Fallback()

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Check the parts together as well, even where one alone is wrong already."""
        if isinstance(given, cls):
            return given
        found: list[InitErrorDetails] = []
        try:
            policy = handler(given)
        except ValidationError as error:
            found += [cast(InitErrorDetails, details) for details in error.errors(include_url=False)]
        if isinstance(given, Mapping):
            found += [
                {"type": "value_error", "loc": place, "input": None, "ctx": {"error": ValueError(problem)}}
                for place, problem in problems_together(given)
            ]
        if found:
            raise ValidationError.from_exception_data(cls.__name__, found)
        return policy

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the rules in which functions take part."""
        rules: tuple[Rule | Veto, ...] = (*self.rules, *self.vetoes)
        return tuple(
            rule.name
            for rule in rules
            if not all(isinstance(condition, Condition) for condition in rule.when)
        )

    @property
    def sha256(self) -> str | None:
        """Over the policy's content, whatever the order of its keys; None where functions take part."""
        if self.functions:
            return None
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def judge(self, state: object, result: DecisionResult[Any], *further: DecisionResult[Any]) -> Outcome:
        """The outcome of answers that are there already: the first endpoint's, then those of the fallback.

        Raises SemifError where an answer's options are not exactly those of the policy.
        """
        waiting = iter((result, *further))
        return run(deliberate(self, state, result.id), lambda _: next(waiting, None))

    def decide(
        self,
        client: "DecisionClient",
        state: "State",
        question: str,
        options: Any,
        *,
        id: str | None = None,  # noqa: A002 - the wire's
        order_debiasing: "OrderDebiasing" = "none",
        endpoints: "Mapping[str, DecisionClient]" = NOBODY,
    ) -> Outcome:
        """Ask `client` what `DecisionClient.decide` asks, unless a rule decides before, and judge the answer.

        `endpoints` are the further ones that the fallback names. One that is overloaded, out of reach, too
        slow or faulty, after the client's own attempts, has given no answer. Raises DecisionError for what is
        wrong with the request or the credentials, SemifError where options or endpoints are not the policy's.
        """
        check_asking(self, question, options, endpoints)

        def ask(endpoint: Endpoint) -> Reply:
            asked = client if endpoint is None else endpoints[endpoint]
            try:
                return asked.decide(state, question, options, id=id, order_debiasing=order_debiasing)
            except DecisionError as error:
                return unanswered(error)

        return run(deliberate(self, state, id), ask)

    async def decide_async(
        self,
        client: "AsyncDecisionClient",
        state: "State",
        question: str,
        options: Any,
        *,
        id: str | None = None,  # noqa: A002 - the wire's
        order_debiasing: "OrderDebiasing" = "none",
        endpoints: "Mapping[str, AsyncDecisionClient]" = NOBODY,
    ) -> Outcome:
        """As `decide`, on an event loop. Functions in rules run on the loop: they must not block."""
        check_asking(self, question, options, endpoints)

        async def ask(endpoint: Endpoint) -> Reply:
            asked = client if endpoint is None else endpoints[endpoint]
            try:
                return await asked.decide(state, question, options, id=id, order_debiasing=order_debiasing)
            except DecisionError as error:
                return unanswered(error)

        return await run_async(deliberate(self, state, id), ask)
