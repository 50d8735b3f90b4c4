"""What names a prompt's words and cuts: results tell it, and a calibration is good for one only."""

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semif_adapter.contract.wire import Layout, Readout

PROMPT_REVISION = 2
"""Raised with every change to the words or the cuts of writer.py, and with TODAY."""
TODAY = date(2026, 1, 1)
"""For chat templates that tell the date: the same for ever, or an answer would depend on the day."""


def prompt_version(template: str, readout: "Readout", layout: "Layout") -> str:
    """The `prompt_version` of results; `template` is "chat" or "plain"."""
    return f"{template}-{readout}-{layout}-{PROMPT_REVISION}"
