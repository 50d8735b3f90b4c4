"""`AsyncDecisionClient`: ask from an event loop."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from semif.client.bulk.each import Bulk, EachAnswer, Item, each_async
from semif.client.call import Call
from semif.client.errors import DecisionError
from semif.client.questions import (
    Choice,
    FirstChoice,
    ListedOptions,
    Question,
    SecondChoice,
    ThirdChoice,
)
from semif.client.reply import WireAnswer
from semif.client.request import (
    OrderDebiasing,
    Request,
    as_written,
    one_decision,
    several_decisions,
)
from semif.client.results import Choice_co, DecisionResult
from semif.client.retry import SYSTEM_CLOCK, Attempt, Attempts, Clock, Retry, Returned, checked_timeout
from semif.client.sending.call_ids import checked_inference_id
from semif.client.transports.open_transport import CONNECTIONS, open_transport
from semif.client.values.states import State

if TYPE_CHECKING:
    from typing import Self

    import boto3
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient
    from typing_extensions import TypeForm


class AsyncDecisionClient:
    """`DecisionClient` for an event loop, with the same arguments, answers and errors.

    A task may be cancelled at any time (`asyncio.timeout`, say): its connection is closed and its place is
    free for others at once. One client serves one event loop after another, and several.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        url: str | None = None,
        api_key: str | None = None,
        region: str | None = None,
        profile: str | None = None,
        session: "boto3.Session | None" = None,
        sagemaker_runtime: "SageMakerRuntimeClient | None" = None,
        timeout: float | None = None,
        retry: Retry = Retry(),  # noqa: B008 - immutable
        on_attempt: Callable[[Attempt], object] = lambda _: None,
        connections: int = CONNECTIONS,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """As `DecisionClient`. `on_attempt` is called on the event loop's thread."""
        self._transport = open_transport(
            endpoint,
            url=url,
            api_key=api_key,
            region=region,
            profile=profile,
            session=session,
            sagemaker_runtime=sagemaker_runtime,
            connections=connections,
        )
        self._timeout = checked_timeout(timeout)
        self._retry = retry
        self._on_attempt = on_attempt
        self._clock = clock

    @overload
    async def decide(
        self,
        state: State,
        question: str,
        options: ListedOptions[Choice],
        *,
        id: str | None = None,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> DecisionResult[Choice]: ...
    @overload
    async def decide(
        self,
        state: State,
        question: str,
        options: "TypeForm[Choice]",
        *,
        id: str | None = None,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> DecisionResult[Choice]: ...
    async def decide(
        self,
        state: State,
        question: str,
        options: Any,
        *,
        id: str | None = None,  # noqa: A002
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> DecisionResult[Any]:
        """As `DecisionClient.decide`."""
        asked = Question[Any](question, options, id=id)
        return await self._ask(lambda: one_decision(state, asked, order_debiasing), timeout, inference_id)

    @overload
    async def decide_many(
        self,
        state: State,
        questions: tuple[Question[FirstChoice], Question[SecondChoice]],
        *,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> tuple[DecisionResult[FirstChoice], DecisionResult[SecondChoice]]: ...
    @overload
    async def decide_many(
        self,
        state: State,
        questions: tuple[Question[FirstChoice], Question[SecondChoice], Question[ThirdChoice]],
        *,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> tuple[DecisionResult[FirstChoice], DecisionResult[SecondChoice], DecisionResult[ThirdChoice]]: ...
    @overload
    async def decide_many(
        self,
        state: State,
        questions: Sequence[Question[Choice_co]],
        *,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> tuple[DecisionResult[Choice_co], ...]: ...
    async def decide_many(
        self,
        state: State,
        questions: Sequence[Question[Any]],
        *,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> tuple[DecisionResult[Any], ...]:
        """As `DecisionClient.decide_many`."""
        return await self._ask(
            lambda: several_decisions(state, questions, order_debiasing), timeout, inference_id
        )

    def decide_each(
        self,
        items: "Iterable[Item[Choice_co]]",
        *,
        concurrency: int | None = None,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
    ) -> AsyncIterator[EachAnswer[Choice_co]]:
        """As `DecisionClient.decide_each`."""
        self._transport.check_open()
        bulk = Bulk(
            items,
            self._transport,
            concurrency=concurrency,
            order_debiasing=order_debiasing,
            timeout=self._timeout if timeout is None else checked_timeout(timeout),
            retry=self._retry,
            on_attempt=self._on_attempt,
            clock=self._clock,
        )
        return each_async(bulk, self._clock)

    async def ask(
        self, body: bytes, *, timeout: float | None = None, inference_id: str | None = None
    ) -> WireAnswer:
        """As `DecisionClient.ask`."""
        return await self._ask(lambda: as_written(body), timeout, inference_id)

    async def close(self) -> None:
        """Let the connections go. What was sent is still answered, all else fails with ClosedClientError."""
        self._transport.close()

    async def __aenter__(self) -> "Self":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _ask(
        self, prepare: Callable[[], Request[Returned]], timeout: float | None, inference_id: str | None
    ) -> Returned:
        inference_id = checked_inference_id(inference_id)
        attempts = Attempts(
            self._retry,
            self._clock,
            self._on_attempt,
            self._timeout if timeout is None else timeout,
            inference_id=inference_id,
        )
        request = await self._transport.in_a_thread(prepare)  # megabytes of state take a while to check
        with Call(self._transport.server, inference_id) as call:
            while True:
                seconds_left = attempts.begin()
                try:
                    raw = await self._transport.send_async(request.body, seconds_left, call.ids)
                    answer = call.read(request, raw)
                except DecisionError as error:
                    seconds = attempts.failed(error)
                else:
                    attempts.succeeded()
                    return answer
                await self._clock.pause(seconds)
