"""What a call is found by: in the adapter's log, in what SageMaker captures, in traces."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from semif.client.errors import RequestRefusedError
from semif.errors import shown

INFERENCE_ID_HEADER = "X-Amzn-SageMaker-Inference-Id"
CUSTOM_ATTRIBUTES_HEADER = "X-Amzn-SageMaker-Custom-Attributes"
_LONGEST = 64
_INFERENCE_ID = re.compile(rf"[\x21-\x7e](?:[\x20-\x7e]{{0,{_LONGEST - 2}}}[\x21-\x7e])?")
"""`InferenceId` of InvokeEndpoint in the SageMaker Runtime API, as botocore 1.44.8 has it (read 2026-11-30):
1 to 64 printable characters, the first no space. Not the last either here: HTTP takes such a space away."""


@dataclass(frozen=True)
class CallIds:
    """The ids of one call, the same for all its attempts."""

    inference_id: str | None = None
    traceparent: str | None = None
    """Of W3C Trace Context: the span that the call belongs to."""

    @property
    def custom_attributes(self) -> str | None:
        """SageMaker hands them to the container as they are, which it does with no header of the caller's."""
        return f"traceparent={self.traceparent}" if self.traceparent else None

    @property
    def headers(self) -> Mapping[str, str]:
        """As SageMaker hands them to the container."""
        sent = {INFERENCE_ID_HEADER: self.inference_id, CUSTOM_ATTRIBUTES_HEADER: self.custom_attributes}
        return {name: value for name, value in sent.items() if value is not None}


NO_IDS = CallIds()


def checked_inference_id(inference_id: str | None) -> str:
    """`inference_id`, where SageMaker takes it; a random one for None. Raises RequestRefusedError."""
    if inference_id is None:
        return uuid4().hex
    if not isinstance(inference_id, str) or not _INFERENCE_ID.fullmatch(inference_id):
        raise RequestRefusedError(
            f"the request was not sent, inference_id = {shown(inference_id)}: must be 1 to {_LONGEST} "
            "visible ASCII characters, with spaces only between them; leave it out for a random one",
            code="invalid_request",
        )
    return inference_id
