"""`semif calibrate fit`: a temperature, measured."""

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from semif.cli.calibrate.options import report_left_out, run_files
from semif.cli.output import json_option, print_json
from semif.evaluation.extra import need_evaluate_extra
from semif.evaluation.runs.run_file import keep_runs
from semif.project.whole_files import write_whole

if TYPE_CHECKING:
    from semif.calibration.fit import PromptFit
    from semif_adapter.archive.calibration import Fitted


@click.command()
@run_files
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The calibration file to write.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="PNG_OR_SVG",
    help="Also draw the reliability, before and after.",
)
@json_option
def fit(runs: tuple[Path, ...], output: Path, plot: Path | None, as_json: bool) -> None:
    """Fit the temperature that makes a model's probabilities honest.

    A temperature divides the option logits before the softmax: the choice stays, its probability
    becomes what it is worth. RUN is what `semif evaluate run` wrote: answers of one model by one readout;
    several runs may differ in the prompt (decisions have the schema first, SEMIF_LAYOUT=state-first makes
    the others), and each prompt gets temperatures of its own. At least 50 answered tasks are needed, and
    a kind of question (choice, noul, score) has its own temperature from 50 on, where that does better.

    The figures are out of fold: each task is judged by a temperature fitted without its group. A warning says
    where the calibration is not shown to help.

    \b
    Examples:
      semif calibrate fit run.jsonl -o calibration.json --plot reliability.png
      semif serve embedded --calibration calibration.json
    To pack it with a preset, put the file into models/ and name it there:
      [calibration]
      file = "embedded.calibration.json"
    """
    need_evaluate_extra()
    from semif.calibration.calibrate import calibrate  # noqa: PLC0415 - SciPy takes its time to load

    keep_runs(runs, output, plot)
    done = calibrate(runs)
    if plot is not None:
        from semif.calibration.plot import write_reliability_plot  # noqa: PLC0415 - Matplotlib too

        write_reliability_plot(done.fits, plot)
    content = done.calibration.canonical_bytes()
    write_whole(output, content)
    sha256 = hashlib.sha256(content).hexdigest()
    report_left_out(done.left_out)
    if done.rotated:
        click.echo(
            f"semif: {done.rotated} answers of rotated options (order_debiasing) are left out, fitted is "
            "without rotation; `semif evaluate run` asks their tasks again without",
            err=True,
        )
    for warning in done.warnings:
        click.echo(f"semif: warning: {warning}", err=True)
    if as_json:
        print_json(
            {
                "path": str(output),
                "sha256": sha256,
                "left_out": done.left_out,
                "rotated": done.rotated,
                "calibration": done.calibration.model_dump(mode="json", by_alias=True),
                "gains": {
                    prompt_fit.calibration.prompt_version: asdict(prompt_fit.gain) for prompt_fit in done.fits
                },
                "warnings": list(done.warnings),
            }
        )
        return
    for prompt_fit in done.fits:
        _print_fit(prompt_fit)
    click.echo(f"{output}: written, SHA-256 {sha256}")


def _print_fit(prompt_fit: "PromptFit") -> None:
    fitted, gain = prompt_fit.calibration, prompt_fit.gain
    click.echo(
        f"{fitted.prompt_version}: {fitted.tasks} tasks in {fitted.groups} groups, "
        f"{prompt_fit.accuracy:.1%} right before and after"
    )
    click.echo("                T        ECE      Brier    log loss")
    _print_figures("", fitted)
    for kind, own in fitted.kinds.items():
        _print_figures(kind, own)
    for kind, reason in prompt_fit.shared_kinds.items():
        click.echo(f"  {kind} takes the shared temperature: {reason}")
    click.echo(f"  log loss {-gain.value:+.4f}, 95 % interval {-gain.high:+.4f} to {-gain.low:+.4f}")


def _print_figures(kind: str, fitted: "Fitted") -> None:
    for name, temperature, figures in (
        ("before", 1.0, fitted.before),
        ("after", fitted.temperature, fitted.after),
    ):
        values = f"{figures.ece:<8.4f} {figures.brier:<8.4f} {figures.log_loss:.4f}"
        click.echo(f"  {kind:6} {name:6} {temperature:<8.4g} {values}")
