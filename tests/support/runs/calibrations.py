"""Calibration files for tests. Their figures are made up; the temperatures are what the test says."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from semif_adapter.archive.calibration import Calibration, Figures, Fitted, PromptCalibration
from semif_adapter.archive.prompt_version import PROMPT_REVISION
from semif_adapter.contract.wire import Readout

TEMPERATURE = 2.0


def calibration(
    model_sha256: str,
    readout: Readout = "text",
    *,
    template: str = "chat",
    layouts: tuple[str, ...] = ("schema-first", "state-first"),
    kinds: Mapping[str, float] | None = None,
    **prompt: Any,
) -> Calibration:
    """Of a model, for the prompts of `layouts`; `prompt` changes fields of each of them.

    `kinds` are the temperatures of kinds that have their own.
    """
    figures = Figures(ece=0.2, brier=0.6, log_loss=0.9)
    fields: dict[str, Any] = {
        "temperature": TEMPERATURE,
        "tasks": 60,
        "groups": 60,
        "before": figures,
        "after": figures,
    }
    own = {kind: Fitted(**{**fields, "temperature": value}) for kind, value in (kinds or {}).items()}
    prompts = tuple(
        PromptCalibration(
            **{
                "prompt_version": f"{template}-{readout}-{layout}-{PROMPT_REVISION}",
                "kinds": own,
                **fields,
                **prompt,
            }
        )
        for layout in layouts
    )
    return Calibration(model_sha256=model_sha256, readout=readout, data_sha256=("d" * 64,), prompts=prompts)


def write_calibration(path: Path, content: Calibration) -> Path:
    """`path`, which now holds `content`."""
    path.write_bytes(content.canonical_bytes())
    return path
