"""The figures on standard output, whatever becomes of it."""

import io
import json
import logging
import sys

import pytest

from semif_adapter.contract.settings import Settings
from semif_adapter.serving.request_queue import RequestQueue
from semif_adapter.serving.telemetry import Telemetry


class Full(io.StringIO):
    """Standard output on a disk that is full until it is not."""

    full = True

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(28, "No space left on device")
        return super().write(text)


def test_figures_go_on_when_their_output_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(metrics="emf")
    telemetry = Telemetry(RequestQueue(lambda: pytest.fail("loads nothing"), settings), settings)
    output = Full()
    monkeypatch.setattr(sys, "stdout", output)
    with caplog.at_level(logging.ERROR):
        telemetry.flush()
        telemetry.flush()
        assert caplog.messages == ["figures are not written, standard output failed: No space left on device"]
        output.full = False
        telemetry.flush()

    assert json.loads(output.getvalue())["InFlight"] == 0
