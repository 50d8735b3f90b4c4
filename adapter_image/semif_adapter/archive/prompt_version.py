"""What names a prompt's words and cuts: results tell it, and a calibration is good for one only."""

from semif_adapter.contract.wire import Layout, Readout

PROMPT_REVISION = 2
"""Raised with every change to the words or the cuts of writer.py."""


def prompt_version(template: str, readout: Readout, layout: Layout) -> str:
    """The `prompt_version` of results; `template` is "chat" or "plain"."""
    return f"{template}-{readout}-{layout}-{PROMPT_REVISION}"
