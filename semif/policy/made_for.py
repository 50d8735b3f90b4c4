"""What a policy's thresholds were found on, and in what an answer is something else.

A probability is worth what it was worth to one model, with one calibration, prompt and wording. With another
of these the same number means something else, and nothing in it shows that.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from semif.client.questions import Question
from semif.client.results import DecisionResult
from semif.client.values.wording import wording_of
from semif.errors import SemifError
from semif_adapter.archive.manifest import Sha256
from semif_adapter.contract.wire import WireModel

MAX_ANSWERERS = 11
"""The endpoint asked first, and as many as a fallback may name."""


class Answerer(WireModel):
    """Who gave the answers that thresholds were found on; every reply tells the same of itself."""

    model_sha256: Sha256
    """Of the model's file."""
    calibration_sha256: Sha256 | None = None
    """Of the calibration file; left out where probabilities were not calibrated."""
    prompt_version: str
    """As replies tell it."""


class MadeFor(WireModel):
    """What a policy's thresholds were found on. `semif calibrate thresholds -o` writes it."""

    question_sha256: Sha256
    """Of its text."""
    options_sha256: Sha256
    """Of ids and descriptions, whatever their order."""
    answerers: Annotated[tuple[Answerer, ...], Field(strict=False, min_length=1, max_length=MAX_ANSWERERS)]
    """Whose answers the thresholds at the top are for: one for each endpoint that differs and has no
    thresholds of its own."""


class Mismatch(WireModel):
    """A way in which an answer is not what the policy was made for."""

    what: Literal["question", "options", "model", "calibration", "prompt"]
    made_for: str | None
    """SHA-256, or the prompt's version; None: no calibration."""
    got: str | None

    def __str__(self) -> str:
        """For people."""
        wanted, got = (_short(self.what, value) for value in (self.made_for, self.got))
        return f"the policy was made for {wanted}, this is {got}"


def wording_mismatches(made_for: MadeFor | None, asked: Question[object]) -> tuple[Mismatch, ...]:
    """In what the question asked, or its options, is another one."""
    if made_for is None:
        return ()
    wording = wording_of(asked.text, asked.wire_options)
    pairs: tuple[tuple[Literal["question", "options"], str, str], ...] = (
        ("question", made_for.question_sha256, wording.question_sha256),
        ("options", made_for.options_sha256, wording.options_sha256),
    )
    return tuple(
        Mismatch(what=what, made_for=wanted, got=got) for what, wanted, got in pairs if wanted != got
    )


def check_wording(policy: str, mismatches: tuple[Mismatch, ...]) -> None:
    """Raise SemifError where the policy's thresholds are of other words: the program is to blame."""
    if mismatches:
        raise SemifError(
            f"policy {policy!r} does not fit: {'; '.join(map(str, mismatches))}; ask with the words it was "
            "made for, find thresholds for the new ones (`semif calibrate thresholds`), or accept the "
            "mismatch (`accept_mismatch=True`, --accept-mismatch)"
        )


def answer_mismatches(answerers: Sequence[Answerer], result: DecisionResult[object]) -> tuple[Mismatch, ...]:
    """In what the answer differs from that of the answerers that it is nearest to; with none, in nothing."""
    differences = (tuple(_differences(answerer, result)) for answerer in answerers)
    return min(differences, key=len, default=())


def _differences(answerer: Answerer, result: DecisionResult[object]) -> Iterator[Mismatch]:
    calibration = result.calibration.sha256 if result.calibration else None
    pairs: tuple[tuple[Literal["model", "calibration", "prompt"], str | None, str | None], ...] = (
        ("model", answerer.model_sha256, result.model.sha256),
        ("calibration", answerer.calibration_sha256, calibration),
        ("prompt", answerer.prompt_version, result.raw.prompt_version),
    )
    for what, wanted, got in pairs:
        if wanted != got:
            yield Mismatch(what=what, made_for=wanted, got=got)


def _short(what: str, value: str | None) -> str:
    if value is None:
        return f"no {what}"
    return f"{what} {value if what == 'prompt' else value[:12]}"
