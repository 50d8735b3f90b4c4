"""What names a prompt's words and cuts: results tell it, and a calibration is good for one only."""

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semif_adapter.contract.wire import Layout, Readout, TemplateName

PROMPT_REVISION = 2
"""Raised with every change to the words or the cuts of writer.py, and with TODAY."""
DIRECT_OPTIONS: "TemplateName" = "direct-options-v1"
"""SemIf's own prompt, whose name is its version: its words and their order are the same in every layout."""
TODAY = date(2026, 1, 1)
"""For chat templates that tell the date: the same for ever, or an answer would depend on the day."""


def prompt_version(template: str, readout: "Readout", layout: "Layout") -> str:
    """The `prompt_version` of results; `template` is a `TemplateName`, or a decision head's kind."""
    if (template, readout) == (DIRECT_OPTIONS, "letters"):
        return DIRECT_OPTIONS
    return f"{template}-{readout}-{layout}-{PROMPT_REVISION}"


def is_read_by(version: str, readout: "Readout") -> bool:
    """Whether prompts of this version are read so."""
    return readout == "letters" if version == DIRECT_OPTIONS else readout in version.split("-")
