"""How an outcome is found: rules, then answers against the thresholds, then the fallback; vetoes over all.

`deliberate` asks nobody itself. It yields whom to ask and is sent the reply, so that the blocking and the
asynchronous way of asking, and answers that are there already, run the very same steps.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from semif.client.errors import AnswerTimeoutError, ContainerFaultError, DecisionError
from semif.client.questions import Question
from semif.client.results import DecisionResult
from semif.errors import SemifError, shown
from semif.policy.bars import Bar
from semif.policy.conditions import Unjudged
from semif.policy.criteria import Criteria
from semif.policy.made_for import Mismatch, answer_mismatches, check_wording, wording_mismatches
from semif.policy.outcome import (
    DecidedBy,
    EndpointAnswer,
    NoAnswer,
    Outcome,
    Shortfall,
    answer_of,
    no_answer_of,
)
from semif.policy.rules import PERSON, Rule, Veto, condition_text, judge_all

EndpointName = str | None
"""A name in the policy's fallback; None for the endpoint asked first."""
EndpointReply = DecisionResult[Any] | DecisionError
Deliberation = Generator[EndpointName, EndpointReply | None, Outcome]


@dataclass(frozen=True)
class Case:
    """What an outcome is wanted for."""

    policy: Criteria
    state: object
    decision: str | None
    accept_mismatch: bool
    """Whether an answer passes that is not of those that the policy was made for."""
    wording: tuple[Mismatch, ...]
    """In what the question is not the policy's; none, or accepted."""


def deliberate(case: Case) -> Deliberation:
    """The steps to an outcome. What is sent in None's place is no reply: the endpoint was not asked.

    Raises SemifError where an answer's options are not the policy's.
    """
    policy = case.policy
    for rule in policy.rules:
        verdict = judge_all(rule.when, case.state, rule.name)
        if verdict is not False:
            why = f"rule {_rule_text(rule, verdict)}"
            option = PERSON if isinstance(verdict, Unjudged) else rule.then
            return _settle(case, (), _Proposal(option, "rule", rule.name, why))
    answers: list[EndpointAnswer | NoAnswer] = []
    for endpoint in (None, *policy.fallback.endpoints):
        reply = yield endpoint
        if isinstance(reply, DecisionError):
            answers.append(no_answer_of(endpoint, reply))
        elif reply is not None:
            check_options(policy, reply.probabilities)
            bar = policy.bar(endpoint)
            answer = answer_of(
                endpoint,
                reply,
                threshold=bar.thresholds[reply.choice_id],
                shortfalls=tuple(_shortfalls(bar, reply)),
                mismatches=answer_mismatches(bar.answerers, reply),
            )
            answers.append(answer)
            if not answer.shortfalls and (case.accept_mismatch or not answer.mismatches):
                return _settle(case, answers, _Proposal(answer.choice, "answer", None, str(answer)))
    last = _Proposal(policy.fallback.then, "fallback", None, "; ".join(map(str, answers)))
    return _settle(case, answers, last)


def run(deliberation: Deliberation, ask: Callable[[EndpointName], EndpointReply | None]) -> Outcome:
    """The outcome of a deliberation, with `ask` for whom it wants to hear."""
    reply: EndpointReply | None = None
    while True:
        try:
            endpoint = deliberation.send(reply)
        except StopIteration as end:
            return cast(Outcome, end.value)
        reply = ask(endpoint)


async def run_async(
    deliberation: Deliberation, ask: Callable[[EndpointName], Awaitable[EndpointReply]]
) -> Outcome:
    """As `run`, on an event loop."""
    reply: EndpointReply | None = None
    while True:
        try:
            endpoint = deliberation.send(reply)
        except StopIteration as end:
            return cast(Outcome, end.value)
        reply = await ask(endpoint)


def unanswered(error: DecisionError) -> DecisionError:
    """The error where the endpoint had no answer, which is what the fallback is for.

    Raises it where the program is to blame: no fallback mends a wrong request, or missing credentials.
    """
    if error.retryable or isinstance(error, AnswerTimeoutError | ContainerFaultError):
        return error
    raise error


def case_to_ask(
    policy: Criteria,
    asked: Question[Any],
    endpoints: Iterable[str],
    *,
    state: object,
    decision: str | None,
    accept_mismatch: bool,
) -> Case:
    """What is to be deliberated.

    Raises SemifError, before anything is asked, where options, endpoints or wording are not the policy's.
    """
    check_options(policy, [option["id"] for option in asked.wire_options])
    wanted, offered = set(policy.fallback.endpoints), set(endpoints)
    if wanted != offered:
        raise SemifError(
            f"policy {policy.name!r} falls back to {', '.join(sorted(wanted)) or 'no endpoint'}, given are "
            f"{', '.join(sorted(offered)) or 'none'}; give a client for each name, and no other"
        )
    return case_of(policy, asked, state=state, decision=decision, accept_mismatch=accept_mismatch)


def case_of(
    policy: Criteria,
    asked: Question[Any] | None,
    *,
    state: object,
    decision: str | None,
    accept_mismatch: bool,
) -> Case:
    """What is to be deliberated, of a question that is told only where the policy is made for one.

    Raises SemifError where it is made for one and told none, or another that is not accepted.
    """
    if asked is None:
        if policy.made_for is not None and not accept_mismatch:
            raise SemifError(
                f"policy {policy.name!r} was made for one question, and the answer does not tell what was "
                "asked; give asked=Question(text, options)"
            )
        return Case(policy, state, decision, accept_mismatch, wording=())
    wording = wording_mismatches(policy.made_for, asked)
    if not accept_mismatch:
        check_wording(policy.name, wording)
    return Case(policy, state, decision, accept_mismatch, wording)


def check_options(policy: Criteria, options: Iterable[str]) -> None:
    """Raise SemifError where the options asked are not exactly those that the policy has thresholds for."""
    asked = tuple(options)
    if more := [option for option in asked if option not in policy.thresholds]:
        raise SemifError(
            f"policy {policy.name!r} has no threshold for the option {shown(more[0])}; it knows "
            f"{', '.join(policy.thresholds)}"
        )
    if fewer := [option for option in policy.thresholds if option not in asked]:
        raise SemifError(
            f"policy {policy.name!r} knows the option {shown(fewer[0])}, which is not offered; offer it"
        )


def _shortfalls(bar: Bar, result: DecisionResult[Any]) -> Iterator[Shortfall]:
    """The checks that the answer does not pass. A tie never does: which option came first must not matter."""
    wanted = bar.thresholds[result.choice_id]
    if not result.probability >= wanted:
        yield Shortfall(check="threshold", wanted=wanted, got=result.probability)
    if not result.margin > 0:
        yield Shortfall(check="tie", wanted=0.0, got=result.margin)
    elif not result.margin >= bar.min_margin:
        yield Shortfall(check="margin", wanted=bar.min_margin, got=result.margin)
    least, mass = bar.min_allowed_token_mass, result.allowed_token_mass
    if least is not None and (mass is None or not mass >= least):
        yield Shortfall(check="allowed_token_mass", wanted=least, got=mass)


@dataclass(frozen=True)
class _Proposal:
    """What would be the outcome if no veto forbids it."""

    option: str
    decided_by: DecidedBy
    rule: str | None
    reason: str


def _settle(
    case: Case,
    answers: Sequence[EndpointAnswer | NoAnswer],
    proposal: _Proposal,
) -> Outcome:
    """The outcome that no veto forbids. An option that was forbidden does not come back."""
    policy = case.policy
    vetoed: list[str] = []
    while proposal.option != PERSON and (holding := _veto(policy, case.state, proposal.option)) is not None:
        veto, verdict = holding
        vetoed.append(proposal.option)
        person = isinstance(verdict, Unjudged) or veto.then in vetoed
        why = f"{proposal.reason}; veto on {proposal.option}, {_rule_text(veto, verdict)}"
        proposal = _Proposal(PERSON if person else veto.then, "veto", veto.name, why)
    return Outcome(
        policy=policy.name,
        policy_sha256=policy.sha256,
        decision=case.decision,
        option=None if proposal.option == PERSON else proposal.option,
        decided_by=proposal.decided_by,
        rule=proposal.rule,
        vetoed=tuple(vetoed),
        answers=tuple(answers),
        reason=proposal.reason,
        mismatch_accepted=case.accept_mismatch
        and (bool(case.wording) or any(isinstance(a, EndpointAnswer) and a.mismatches for a in answers)),
        wording_mismatches=case.wording,
    )


def _veto(policy: Criteria, state: object, option: str) -> tuple[Veto, bool | Unjudged] | None:
    """The first veto on the option that holds or cannot be judged."""
    for veto in policy.vetoes:
        if veto.option == option and (verdict := judge_all(veto.when, state, veto.name)) is not False:
            return veto, verdict
    return None


def _rule_text(rule: Rule | Veto, verdict: bool | Unjudged) -> str:
    """Which rule, and what of it held, for people."""
    if isinstance(verdict, Unjudged):
        return f"{rule.name!r} cannot be judged: {verdict.reason}"
    return f"{rule.name!r}: {' and '.join(map(condition_text, rule.when)) or 'always'}"
