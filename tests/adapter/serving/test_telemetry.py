"""The figures on standard output, whatever becomes of it."""

import json
import os

import pytest

from semif_adapter.contract.settings import Settings
from semif_adapter.serving.line_writer import LineWriter
from semif_adapter.serving.request_queue import RequestQueue
from semif_adapter.serving.telemetry import Telemetry


def test_figures_go_on_when_their_output_does(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(metrics="emf")
    queue = RequestQueue(lambda: pytest.fail("loads nothing"), settings)
    output, (reading, writing) = os.open("/dev/full", os.O_WRONLY), os.pipe()
    writer = LineWriter(output, "standard output")
    telemetry = Telemetry(queue, settings, writer)
    for _ in range(2):
        telemetry.flush()
        writer.flush()
    os.dup2(writing, output)
    telemetry.flush()
    writer.flush()

    assert json.loads(os.read(reading, 65_536))["InFlight"] == 0
    assert caplog.messages == [
        "standard output failed, its lines are lost: No space left on device",
        "2 lines for standard output were lost",
    ]
    for descriptor in (output, reading, writing):
        os.close(descriptor)
