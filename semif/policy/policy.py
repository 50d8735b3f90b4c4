"""`Policy`: when an answer is good enough to act on, and what is done otherwise. See docs/policy.md."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from semif.client.errors import DecisionError
from semif.client.questions import Question
from semif.client.results import DecisionResult
from semif.client.retry import TimeLeft
from semif.policy.criteria import Criteria
from semif.policy.deliberation import (
    EndpointName,
    EndpointReply,
    case_of,
    case_to_ask,
    deliberate,
    run,
    run_async,
    unanswered,
)
from semif.policy.outcome import Outcome

if TYPE_CHECKING:
    from semif.client.async_client import AsyncDecisionClient
    from semif.client.client import DecisionClient
    from semif.client.request import OrderDebiasing
    from semif.client.values.states import State

NOBODY: Mapping[str, Any] = MappingProxyType({})


class Policy(Criteria):
    """What an application makes of a model's answers. It speaks of what is proposed, never of who may act.

    Read from a file with `load_policy`, or made in code. Raises ValidationError with all problems at once.
    """

    def judge(
        self,
        state: object,
        result: DecisionResult[Any],
        *further: DecisionResult[Any],
        asked: Question[Any] | None = None,
        accept_mismatch: bool = False,
    ) -> Outcome:
        """The outcome of answers that are there already: the first endpoint's, then those of the fallback.

        `asked` is the question that they answer, and needed where the policy says what it was made for.
        Raises SemifError where an answer's options are not exactly those of the policy, and for another
        wording than it was made for.
        """
        waiting = iter((result, *further))
        case = case_of(self, asked, state=state, decision=result.id, accept_mismatch=accept_mismatch)
        return run(deliberate(case), lambda _: next(waiting, None))

    def decide(
        self,
        client: "DecisionClient",
        state: "State",
        question: str,
        options: Any,
        *,
        id: str | None = None,  # noqa: A002 - the wire's
        order_debiasing: "OrderDebiasing" = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
        endpoints: "Mapping[str, DecisionClient]" = NOBODY,
        accept_mismatch: bool = False,
    ) -> Outcome:
        """Ask `client` what `DecisionClient.decide` asks, unless a rule decides before, and judge the answer.

        `endpoints` are the further ones that the fallback names. One that is overloaded, out of reach, too
        slow or faulty, after the client's own attempts, has given no answer. `timeout` is for all of them
        together, in seconds; without it each client has its own. `inference_id` goes to each endpoint that is
        asked, and each answer of the outcome has it; a random one for each where none is given.

        Raises DecisionError for what is wrong with the request or the credentials, SemifError where options
        or endpoints are not the policy's, or the question's words are not those it was made for.
        `accept_mismatch` takes other words, and answers of another model, calibration or prompt: the outcome
        says so.
        """
        case = case_to_ask(
            self,
            Question[Any](question, options),
            endpoints,
            state=state,
            decision=id,
            accept_mismatch=accept_mismatch,
        )

        time_left = TimeLeft(timeout)

        def ask(endpoint: EndpointName) -> EndpointReply:
            asked = client if endpoint is None else endpoints[endpoint]
            try:
                return asked.decide(
                    state,
                    question,
                    options,
                    id=id,
                    order_debiasing=order_debiasing,
                    timeout=time_left.seconds(),
                    inference_id=inference_id,
                )
            except DecisionError as error:
                return unanswered(error)

        return run(deliberate(case), ask)

    async def decide_async(
        self,
        client: "AsyncDecisionClient",
        state: "State",
        question: str,
        options: Any,
        *,
        id: str | None = None,  # noqa: A002 - the wire's
        order_debiasing: "OrderDebiasing" = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
        endpoints: "Mapping[str, AsyncDecisionClient]" = NOBODY,
        accept_mismatch: bool = False,
    ) -> Outcome:
        """As `decide`, on an event loop. Functions in rules run on the loop: they must not block."""
        case = case_to_ask(
            self,
            Question[Any](question, options),
            endpoints,
            state=state,
            decision=id,
            accept_mismatch=accept_mismatch,
        )

        time_left = TimeLeft(timeout)

        async def ask(endpoint: EndpointName) -> EndpointReply:
            asked = client if endpoint is None else endpoints[endpoint]
            try:
                return await asked.decide(
                    state,
                    question,
                    options,
                    id=id,
                    order_debiasing=order_debiasing,
                    timeout=time_left.seconds(),
                    inference_id=inference_id,
                )
            except DecisionError as error:
                return unanswered(error)

        return await run_async(deliberate(case), ask)
