"""A run as plain rows, for data frames and programs."""

from pathlib import Path
from typing import Any

from semif.evaluation.runs.run_file import Record, read_run


def load_run(path: str | Path) -> list[dict[str, Any]]:
    """The answers of a run file, one flat row each, in the order in which they came.

    A row has the fields of the file but `raw`; `right`; `confidence`, the probability of the choice;
    `probabilities` and `option_logits` by option; `error` as its code; and `slice.NAME` for each slice.
    Times are seconds. `pandas.DataFrame(load_run(path))` is a data frame. Raises SemifError where the file
    cannot be read or is no run, ProblemsError with the lines that are wrong.
    """
    return [_row(record) for record in read_run(Path(path)).records]


def _row(record: Record) -> dict[str, Any]:
    fields = record.model_dump(exclude={"raw", "slices", "error", "probabilities", "option_logits"})
    return {
        **fields,
        "right": record.choice == record.expected,
        "confidence": record.choice_probability,
        "probabilities": _by_option(record, record.probabilities),
        "option_logits": _by_option(record, record.option_logits),
        "error": record.error.code if record.error else None,
        **{f"slice.{name}": value for name, value in (record.slices or {}).items()},
    }


def _by_option(record: Record, numbers: tuple[float, ...] | None) -> dict[str, float] | None:
    return None if numbers is None else dict(zip(record.option_ids, numbers, strict=True))
