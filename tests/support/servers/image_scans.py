"""ECR's scans of images as a test sets them: in the shapes of botocore's model, since moto scans nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from semif.aws.clients import Aws

NOT_FOUND = "ScanNotFoundException"


def scan(status: str, *critical: str, **told: Any) -> dict[str, Any]:
    """A reply of DescribeImageScanFindings, of a basic scan that found something minor too."""
    findings = [{"name": name, "severity": "CRITICAL"} for name in critical]
    return {
        "imageScanStatus": {"status": status, "description": f"it is {status.lower()}"},
        "imageScanFindings": {"findings": [*findings, {"name": "CVE-2020-0001", "severity": "LOW"}]},
        **told,
    }


@contextmanager
def scanned(aws: Aws, *replies: dict[str, Any] | str, usually: bool = False) -> Iterator[list[str]]:
    """Answer with `replies` in turn, the last one for ever; a text is an error's code. Yields requests.

    `usually`: only where no other block inside this one answers.
    """
    left, asked = list(replies), list[str]()

    def answer(params: dict[str, Any], **_: object) -> tuple[SimpleNamespace, dict[str, Any]]:
        asked.append(params["body"].decode() if isinstance(params["body"], bytes) else params["body"])
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, str):
            return SimpleNamespace(status_code=400), {
                "Error": {"Code": reply, "Message": "no scan"},
                "ResponseMetadata": {},
            }
        return SimpleNamespace(status_code=200), reply

    name = "before-call.ecr.DescribeImageScanFindings"
    events = aws.ecr.meta.events
    (events.register_last if usually else events.register_first)(name, answer)
    try:
        yield asked
    finally:
        events.unregister(name, answer)
