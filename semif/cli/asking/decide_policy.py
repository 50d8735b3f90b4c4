"""`semif decide --policy`: one decision under a policy, and its outcome for people."""

from collections.abc import Mapping
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from semif.cli.answer_bars import bars
from semif.client.client import DecisionClient
from semif.environment.environment import environment_names
from semif.errors import SemifError, printable, shown
from semif.policy import EndpointAnswer, Outcome, Policy
from semif.policy.deliberation import EndpointName
from semif_adapter.contract.errors import InvalidRequestError
from semif_adapter.contract.wire import Decision, DecisionRequest
from semif_adapter.forms.invocations import form_of, parse_decisions, read_document


class Addressee(NamedTuple):
    """Whom to ask: an adapter's address, or the name of an environment."""

    name: str
    is_url: bool


def one_decision(body: bytes, *, name: str) -> DecisionRequest:
    """The request that `body` holds. Raises SemifError where it is not exactly one decision."""
    try:
        document = read_document(body)
        form = form_of(document)
        if form != "decision":
            raise SemifError(
                f'{name} has the form {form!r}, one decision is wanted here ({{"decision": ...}})'
            )
        request = parse_decisions(document, form, max_decisions=1)
    except InvalidRequestError as error:
        raise SemifError(f"{name}: {error}") from None
    assert isinstance(request, DecisionRequest)
    return request


def further_addressees(policy: Policy, addresses: tuple[str, ...]) -> dict[str, Addressee]:
    """Where each endpoint of the policy's fallback is: at an address `NAME=URL`, else the environment NAME.

    Raises SemifError for an address without such a name, and for a name that is neither.
    """
    places = {name: Addressee(name, is_url=False) for name in policy.fallback.endpoints}
    for text in addresses:
        name, equals, url = text.partition("=")
        if not equals or name not in places or places[name].is_url:
            known = ", ".join(places) or "it has none"
            raise SemifError(
                f"--endpoint {text}: give NAME=URL, once for a name of the policy's fallback ({known})"
            )
        places[name] = Addressee(url, is_url=True)
    there = environment_names()
    for name, place in places.items():
        if not place.is_url and name not in there:
            raise SemifError(
                f"the policy's fallback asks {shown(name)}, which is no environment; give its address by "
                f"--endpoint {name}=URL, or name an environment in the policy: {', '.join(there) or 'none'}"
            )
    return places


def options_of(decision: Decision) -> dict[str, str | None]:
    """Its options as clients take them."""
    return {option.id: option.description for option in decision.options}


def decide_under(
    policy: Policy,
    request: DecisionRequest,
    clients: Mapping[EndpointName, DecisionClient],
    *,
    accept_mismatch: bool,
) -> Outcome:
    """The outcome of the request. `clients` has under None who is asked first. Raises as `Policy.decide`."""
    decision = request.decision
    return policy.decide(
        clients[None],
        decision.state,
        decision.question,
        options_of(decision),
        id=decision.id,
        order_debiasing=request.parameters.order_debiasing,
        endpoints={name: client for name, client in clients.items() if name is not None},
        accept_mismatch=accept_mismatch,
    )


def show_outcome(console: Console, request: DecisionRequest, outcome: Outcome) -> None:
    """Print what each model said, the outcome, and the reason."""
    console.print(
        f"[bold]{escape(printable(request.decision.id))}[/]: {escape(printable(request.decision.question))}"
    )
    for answer in outcome.answers:
        if isinstance(answer, EndpointAnswer):
            if answer.endpoint is not None:
                console.print(f"  {escape(printable(answer.endpoint))}:")
            console.print(bars(answer.probabilities, blocks="utf" in console.encoding.lower()))
    what = "a person decides" if outcome.option is None else f"outcome {outcome.option}"
    console.print(
        f"  [bold]{escape(printable(what))}[/]: {escape(printable(outcome.reason))}", soft_wrap=True
    )
