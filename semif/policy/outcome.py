"""What came of a decision under a policy: for the program that acts, and for an audit log."""

from typing import Annotated, Literal

from pydantic import Field

from semif.client.errors import DecisionError
from semif.client.results import DecisionResult
from semif.policy.made_for import Mismatch
from semif_adapter.contract.wire import WireModel

DecidedBy = Literal["rule", "answer", "fallback", "veto"]
Check = Literal["threshold", "margin", "allowed_token_mass", "tie"]


class Shortfall(WireModel):
    """A check that an answer did not pass."""

    check: Check
    wanted: float
    """The least that passes; a tie wants more than 0."""
    got: float | None
    """None where the model tells no allowed token mass, as those of the text readout."""

    def __str__(self) -> str:
        """For people."""
        if self.check == "tie":
            return "two options are equally probable"
        name = self.check.replace("_", " ").replace("threshold", "probability")
        return f"{name} {'is not told' if self.got is None else f'{self.got:.4g}'}, {self.wanted:g} is wanted"


class EndpointAnswer(WireModel):
    """What one endpoint's model said."""

    kind: Literal["answer"] = "answer"
    endpoint: str | None
    """Its name in the policy; None for the one asked first."""
    choice: str
    """The id of the most probable option, the first of them where several are."""
    probabilities: dict[str, float]
    threshold: float | None = None
    """The probability from which this endpoint's choice is accepted; None in lines of earlier versions."""
    margin: float
    allowed_token_mass: float | None
    model: str
    model_sha256: str
    calibration_sha256: str | None
    """Of the calibration behind the probabilities; None where there is none."""
    prompt_sha256: str
    """Tells whoever has the request whether it was this one."""
    inference_id: str | None = None
    """Of the call, as data capture and the adapter's log have it."""
    shortfalls: tuple[Shortfall, ...]
    """Empty where the answer passed."""
    mismatches: tuple[Mismatch, ...] = ()
    """In what the answer is not of those that the policy was made for. Such an answer does not pass, unless
    the outcome says `mismatch_accepted`."""

    def __str__(self) -> str:
        """For people: what was chosen, and what it lacks."""
        lacks = "; ".join(map(str, (*self.shortfalls, *self.mismatches)))
        passes = "which passes" + ("" if self.threshold is None else f" from {self.threshold:g} on")
        return f"{self.endpoint or 'the model'} chose {self.choice}, {lacks or passes}"


class NoAnswer(WireModel):
    """An endpoint that could not answer."""

    kind: Literal["no_answer"] = "no_answer"
    endpoint: str | None
    error: str
    """The type of the error, as in `semif.client.errors`."""
    code: str | None
    status: int | None
    attempts: int
    inference_id: str | None = None
    """Of the call, as the adapter's log has it."""

    def __str__(self) -> str:
        """For people."""
        return f"{self.endpoint or 'the model'} gave no answer ({self.code or self.error})"


class Outcome(WireModel):
    """What to do, and why. Of the state it holds nothing but the rules' verdicts.

    `model_dump_json()` is a line for an audit log."""

    policy: str
    policy_sha256: str | None
    """Of the policy; None where functions take part, which it would not cover."""
    decision: str | None
    """The id of the decision, where it has one."""
    option: str | None
    """The id of the option to act on; None: a person decides."""
    decided_by: DecidedBy
    """A rule before the model, an answer that passed, the fallback without one, or a veto on any of these."""
    rule: str | None
    """The name of the rule or the veto that decided."""
    vetoed: tuple[str, ...]
    """The ids of the options that vetoes forbade."""
    answers: tuple[Annotated[EndpointAnswer | NoAnswer, Field(discriminator="kind")], ...]
    """Who was asked, in this order; empty where a rule decided before."""
    reason: str
    """One line for people."""
    mismatch_accepted: bool = False
    """Whether words or answers did not fit the policy, and the program had said to take them all the same."""
    wording_mismatches: tuple[Mismatch, ...] = ()
    """Accepted: in what the question or its options are not those that the policy was made for."""

    @property
    def needs_person(self) -> bool:
        """Whether a person has to decide."""
        return self.option is None


def answer_of(
    endpoint: str | None,
    result: DecisionResult[object],
    *,
    threshold: float,
    shortfalls: tuple[Shortfall, ...],
    mismatches: tuple[Mismatch, ...],
) -> EndpointAnswer:
    """The record of a model's answer."""
    return EndpointAnswer(
        endpoint=endpoint,
        choice=result.choice_id,
        probabilities=dict(result.probabilities),
        threshold=threshold,
        margin=result.margin,
        allowed_token_mass=result.allowed_token_mass,
        model=result.model.name,
        model_sha256=result.model.sha256,
        calibration_sha256=result.raw.calibration.sha256 if result.raw.calibration else None,
        prompt_sha256=result.raw.prompt_sha256,
        inference_id=result.inference_id,
        shortfalls=shortfalls,
        mismatches=mismatches,
    )


def no_answer_of(endpoint: str | None, error: DecisionError) -> NoAnswer:
    """The record of an error, without its message, which may hold the server's words."""
    return NoAnswer(
        endpoint=endpoint,
        error=type(error).__name__,
        code=error.code,
        status=error.status,
        attempts=error.attempts,
        inference_id=error.inference_id,
    )
