"""Who is asked: a form of request, and the way to a server that takes it."""

from dataclasses import dataclass

from pydantic import JsonValue

from semif.client.errors import (
    AccessError,
    DecisionError,
    NoEndpointError,
    OverloadedError,
    ThrottledError,
    UnreachableError,
)
from semif.client.retry import Retry, until_answered
from semif.client.sending.transport import Transport
from semif.evaluation.asking.forms import RequestForm
from semif.evaluation.asking.forms.fields import read_reply
from semif.evaluation.runs.run_file import AnswerFault, Pins, TargetName
from semif.evaluation.runs.task_record import ReplyContent
from semif.evaluation.tasks.labelled_tasks import LabelledTask
from semif.evaluation.tasks.option_orders import OrderedTask
from semif_adapter.contract.wire import Option

_PROBE = LabelledTask(
    id="probe",
    family=None,
    kind="choice",
    group=None,
    state="The lamp in the hall is on.",
    question="Is the lamp on?",
    options=(Option(id="on"), Option(id="off")),
    expected="on",
)


@dataclass(frozen=True)
class Asked:
    """What became of one task in one order."""

    content: ReplyContent
    attempts: int
    refusals: int
    """Attempts that were answered with overload or throttling."""
    raw: JsonValue


class AskedTarget:
    """A server, and how it is asked. Used by many threads."""

    def __init__(
        self,
        name: TargetName,
        form: RequestForm,
        transport: Transport,
        *,
        pins: Pins | None = None,
        retry: Retry = Retry(),  # noqa: B008 - immutable
        timeout: float | None = None,
    ) -> None:
        """`pins` are known beforehand: those of a lock. `timeout` is for an answer with all its attempts."""
        self.name = name
        self.form = form
        self._transport = transport
        self._pins = pins or Pins()
        self._retry = retry
        self._timeout = timeout

    def probe(self) -> Pins:
        """Ask something easy, and see who answers. It opens a connection, and its answer counts nowhere.

        Raises DecisionError where there is no answer.
        """
        reply = self._send(self.form.body(OrderedTask(_PROBE, 0, _PROBE.options)), _Counted(self._transport))
        pins = self.form.pins(reply)
        return pins.model_copy(update={"image": self._pins.image, "model_data": self._pins.model_data})

    def ask(self, ordered: OrderedTask) -> Asked:
        """Ask one task in one order, again while the server is overloaded.

        Raises UnreachableError, NoEndpointError and AccessError: who is not let in, or reaches nobody, learns
        nothing of the model.
        """
        counted = _Counted(self._transport)
        try:
            reply = self._send(self.form.body(ordered), counted)
        except (UnreachableError, NoEndpointError, AccessError):
            raise
        except DecisionError as error:
            fault = AnswerFault(
                code=error.code or type(error).__name__, status=error.status, message=_plain(str(error))
            )
            content = ReplyContent(status="refused" if error.retryable else "failed", error=fault)
            return Asked(content, counted.sent, counted.refused, None)
        return Asked(self.form.read(ordered, reply), counted.sent, counted.refused, _document(reply))

    def _send(self, body: bytes, transport: "_Counted") -> bytes:
        return until_answered(
            lambda seconds: transport.send(body, seconds), retry=self._retry, timeout=self._timeout
        )

    def close(self) -> None:
        """Let the connections go."""
        self._transport.close()


class _Counted:
    """A transport that counts what is sent on it and what is refused, for one task in one order."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.sent = self.refused = 0

    def send(self, body: bytes, seconds: float | None) -> bytes:
        self.sent += 1
        try:
            return self._transport.send(body, seconds)
        except (OverloadedError, ThrottledError):
            self.refused += 1
            raise


def _document(reply: bytes) -> JsonValue:
    try:
        document: JsonValue = read_reply(reply)
    except ValueError:
        return reply.decode(errors="replace")
    return document


def _plain(text: str) -> str:
    """Without halves of characters, which no UTF-8 holds."""
    return text.encode(errors="replace").decode()
