"""From run files to a calibration, and what a person should know of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from semif.calibration.fit import PromptFit, fit_prompt
from semif.calibration.labelled_logits import read_answers
from semif_adapter.archive.calibration import Calibration


@dataclass(frozen=True)
class Calibrated:
    """The file's content, and the fit of each prompt in it."""

    calibration: Calibration
    fits: tuple[PromptFit, ...]
    left_out: int
    """Tasks that got no answer."""
    rotated: int
    """Answers of rotated options, which are left out."""

    @property
    def warnings(self) -> Iterator[str]:
        """Where it is not shown to help, and what then."""
        for fit in self.fits:
            version, gain = fit.calibration.prompt_version, fit.gain
            if gain.low > 0:
                continue
            change = f"{-gain.value:+.4f}, 95 % interval {-gain.high:+.4f} to {-gain.low:+.4f}"
            if gain.value > 0:
                yield (
                    f"{version}: out of fold the log loss falls by no more than chance could ({change}); "
                    "label more tasks, or go on without a calibration"
                )
            else:
                yield (
                    f"{version}: out of fold the log loss does not fall ({change}); do not pack this "
                    "calibration: probabilities are honest as they are, or the tasks too few or too unlike"
                )


def calibrate(runs: Sequence[Path]) -> Calibrated:
    """Fit every prompt of run files that asked one model. Raises as `read_answers` and `fit_prompt` do."""
    answers = read_answers(runs)
    fits = tuple(fit_prompt(version, logits) for version, logits in sorted(answers.prompts.items()))
    return Calibrated(
        Calibration(
            model_sha256=answers.model_sha256,
            readout=answers.readout,
            data_sha256=answers.data_sha256,
            prompts=tuple(fit.calibration for fit in fits),
        ),
        fits,
        answers.left_out,
        answers.rotated,
    )
