"""`DecisionClient`: ask from threads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from semif.client.bulk.each import Bulk, EachAnswer, Item, each
from semif.client.call import Call
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
from semif.client.retry import SYSTEM_CLOCK, Attempt, Clock, Retry, Returned, checked_timeout, until_answered
from semif.client.sending.call_ids import checked_inference_id
from semif.client.transports.open_transport import CONNECTIONS, open_transport
from semif.client.values.states import State

if TYPE_CHECKING:
    from typing import Self

    import boto3
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient
    from typing_extensions import TypeForm


class DecisionClient:
    """Asks one endpoint, or the adapter at one address. One client may be used by many threads at once.

    Connections are kept and used again; `with`, or `close`, lets them go.
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
        """For an `endpoint` by name, or an adapter by `url` (with the `api_key` that it was started with).

        An endpoint is found by `region` and `profile`, else as botocore finds them; or with a boto3
        `session`; or with a botocore client, `sagemaker_runtime`, which must not repeat requests itself.
        `timeout` is how long a call may take, in seconds, with all its attempts, the waits between them and
        the one that runs when it is over; a call may be given another. `on_attempt` is called after each
        attempt, on the thread that asks. So many requests as `connections` are sent at once, further ones
        wait. Raises SemifError.
        """
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
    def decide(
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
    def decide(
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
    def decide(
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
        """Ask one question. `options` is as for `Question`, and so is the type of the answer's `choice`.

        `timeout` takes the place of the client's. `inference_id` is told by the adapter's log: up to 64
        visible ASCII characters, random where none is given. Raises DecisionError: RequestRefusedError at
        once for what can never be answered, AnswerTimeoutError when the time is over, others after the
        attempts that `retry` allows.
        """
        asked = Question[Any](question, options, id=id)
        return self._ask(one_decision(state, asked, order_debiasing), timeout, inference_id)

    @overload
    def decide_many(
        self,
        state: State,
        questions: tuple[Question[FirstChoice], Question[SecondChoice]],
        *,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> tuple[DecisionResult[FirstChoice], DecisionResult[SecondChoice]]: ...
    @overload
    def decide_many(
        self,
        state: State,
        questions: tuple[Question[FirstChoice], Question[SecondChoice], Question[ThirdChoice]],
        *,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> tuple[DecisionResult[FirstChoice], DecisionResult[SecondChoice], DecisionResult[ThirdChoice]]: ...
    @overload
    def decide_many(
        self,
        state: State,
        questions: Sequence[Question[Choice_co]],
        *,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> tuple[DecisionResult[Choice_co], ...]: ...
    def decide_many(
        self,
        state: State,
        questions: Sequence[Question[Any]],
        *,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
        inference_id: str | None = None,
    ) -> tuple[DecisionResult[Any], ...]:
        """Ask several questions about one state in one request; answers in the order of the questions.

        A tuple of two or three questions keeps the type of each answer. The state is computed once. How
        many questions a request may have is the adapter's setting `max_decisions`, 64 unless it was changed;
        more are refused and nothing is split, so that one call stays one request. Raises as `decide`.
        """
        return self._ask(several_decisions(state, questions, order_debiasing), timeout, inference_id)

    def decide_each(
        self,
        items: "Iterable[Item[Choice_co]]",
        *,
        concurrency: int | None = None,
        order_debiasing: OrderDebiasing = "none",
        timeout: float | None = None,
    ) -> Iterator[EachAnswer[Choice_co]]:
        """Ask about many states: each item is a state and its question. Answers and failures as they come.

        A third of an item is the inference id of its call; each has one of its own, which its result or its
        error tells, random where none is given.

        `concurrency` requests are out at once, at most and by default `connections`. Where the server has no
        room, all of them hold back together, and what was refused is sent again, as long as the server
        answers anything within `retry.total_seconds`. `items` are read as there is room, and may be without
        an end; who stops reading cuts off what is out. `timeout` is for each sending. A question without an
        id gets its place: `decision-1`. Raises SemifError for a concurrency that is none and for an item that
        is none, ClosedClientError where the client is closed.
        """
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
        return each(bulk, self._clock)

    def ask(
        self, body: bytes, *, timeout: float | None = None, inference_id: str | None = None
    ) -> WireAnswer:
        """Send a request of any form as it was written. Raises as `decide`."""
        return self._ask(as_written(body), timeout, inference_id)

    def close(self) -> None:
        """Let the connections go. What was sent is still answered, all else fails with ClosedClientError."""
        self._transport.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, request: Request[Returned], timeout: float | None, inference_id: str | None) -> Returned:
        self._transport.check_open()
        with Call(self._transport.server, checked_inference_id(inference_id)) as call:
            return until_answered(
                lambda seconds: call.read(request, self._transport.send(request.body, seconds, call.ids)),
                retry=self._retry,
                on_attempt=self._on_attempt,
                clock=self._clock,
                timeout=self._timeout if timeout is None else timeout,
                inference_id=call.ids.inference_id,
            )
