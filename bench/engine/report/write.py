"""A run's files: the report in words, the samples in JSON, two pictures."""

from collections.abc import Sequence
from pathlib import Path

from bench.engine.report import tables
from bench.engine.rounds import bars, load
from bench.engine.rounds.measure import Clock
from bench.engine.rounds.record import Record


def write(record: Record, notes: Sequence[str], output: Path) -> str:
    """Write all that comes of the record to `output`; the report in Markdown."""
    setup = record.setup
    # A GPU's work is no time of any CPU.
    clock: Clock = "wall" if setup["gpu_layers"] else "cpu"
    rows = bars.check(
        record.results, hybrid=setup["hybrid"], mode=setup["mode"], clock=clock, padded=record.padded
    ) + load.check(record.loads, clock)
    told = [*notes, *(load.NOTES if record.loads else ()), *record.notes]
    if record.labelled:
        told.append(
            f"right answers in W1: {record.right} of {record.labelled} (letters, no claim beyond this model)"
        )
    text = tables.whole(record, rows, told, clock)
    record.write(output, bars=rows)
    (output / "report.md").write_text(text + "\n")
    (output / "headline.md").write_text(tables.headline(record, clock) + "\n")
    from bench.engine.report import plots  # noqa: PLC0415 - matplotlib takes longer than all other imports

    plots.draw_times(record.results, record.decisions, clock, output / "times.png")
    plots.draw_ratios(record.results, rows, clock, output / "ratios.png")
    return text
