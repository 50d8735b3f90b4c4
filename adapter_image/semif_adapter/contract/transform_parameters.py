"""How a SageMaker transform job should send its lines to an adapter of given settings.

`GET /execution-parameters` tells it to whoever starts a job by hand, `semif batch` writes it into its jobs.
"""

from typing import NamedTuple

from semif_adapter.contract.settings import Settings

JSON_LINES = "application/jsonlines"
"""The media type of a file of JSON Lines, and so of each line that a job sends."""

MAX_JOB_PAYLOAD_MB = 100
"""Most of MaxConcurrentTransforms times MaxPayloadInMB (CreateTransformJob in SageMaker's API reference)."""
MB = 1_000_000
"""The smaller of the two megabytes: SageMaker does not say which one it means."""
ALONE, TOGETHER = 4, 16
"""Lines at once: enough to read the next ones while the engine works on one, or to fill shared passes."""


class ExecutionParameters(NamedTuple):
    """How a job should send its lines: so many at once, of up to so many megabytes each."""

    at_once: int
    payload_mb: int

    def to_response(self) -> dict[str, int | str]:
        """What `GET /execution-parameters` answers, under SageMaker's names."""
        return {
            "MaxConcurrentTransforms": self.at_once,
            "BatchStrategy": "SINGLE_RECORD",
            "MaxPayloadInMB": self.payload_mb,
        }


def execution_parameters(settings: Settings) -> ExecutionParameters:
    """What keeps the engine busy, holds the largest body, and never exceeds the places for requests."""
    payload_mb = -(-settings.max_body_bytes // MB)
    shares_passes = settings.mode == "batched" or (settings.mode == "auto" and settings.gpu_layers != 0)
    most = TOGETHER if shares_passes else ALONE
    return ExecutionParameters(
        at_once=min(most, settings.max_in_flight, MAX_JOB_PAYLOAD_MB // payload_mb), payload_mb=payload_mb
    )
