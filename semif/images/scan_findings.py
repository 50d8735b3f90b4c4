"""What ECR's scan found in an image: basic scanning, or Amazon Inspector's (enhanced)."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from semif.aws.clients import aws_errors
from semif.images.image_copy import EcrRepository

if TYPE_CHECKING:
    from mypy_boto3_ecr.type_defs import (
        DescribeImageScanFindingsRequestTypeDef,
        DescribeImageScanFindingsResponseTypeDef,
    )

_SCANNED = {"COMPLETE", "ACTIVE"}
"""Of a basic scan, and of an enhanced one, which goes on as long as the image is young."""
_COMING = {"IN_PROGRESS", "PENDING"}
_NOT_STARTED = "ScanNotFoundException"
_CRITICAL = "CRITICAL"
UNNAMED = "a critical finding that ECR does not name"

SCAN_SECONDS = 900.0
"""How long a scan is waited for; it usually takes a minute or two."""
START_SECONDS = 60.0
"""How long after a push its scan may take to be there. (Both are ours: AWS promises neither.)"""


@dataclass(frozen=True)
class ScanResult:
    """What a scan came to."""

    scanned: bool
    status: str
    """ECR's own word (ScanStatus of its API), or why there is no scan, with its description."""
    critical: tuple[str, ...] = ()
    """Ids of the critical findings, sorted, each once: CVE-…, ALAS…"""


def scan_of(repository: EcrRepository, digest: str, *, poll_seconds: float) -> ScanResult:
    """The findings for the image `digest`, once its scan has ended; waits for it SCAN_SECONDS at most.

    The states are those of ECR's API reference, "ImageScanStatus", and botocore's service model (both read
    2026-11-30, not seen): what is neither done nor coming is told as it is, and counts as not scanned.
    """
    began = time.monotonic()
    while True:
        status, description, pages = _look(repository, digest)
        waited = time.monotonic() - began
        if status in _SCANNED:
            return ScanResult(True, status, tuple(sorted(set(_critical(pages)))))
        if status == _NOT_STARTED and waited > START_SECONDS:
            return ScanResult(False, "no scan was started: the repository does not scan what is pushed")
        if status in _COMING and waited > SCAN_SECONDS:
            return ScanResult(False, f"the scan was still {status} after {SCAN_SECONDS:.0f} s")
        if status not in _COMING and status != _NOT_STARTED:
            return ScanResult(False, f"{status}: {description}" if description else status)
        time.sleep(poll_seconds)


def _look(
    repository: EcrRepository, digest: str
) -> "tuple[str, str, list[DescribeImageScanFindingsResponseTypeDef]]":
    """Status, its description, and all pages of the findings."""
    query: DescribeImageScanFindingsRequestTypeDef = {
        "repositoryName": repository.name,
        "imageId": {"imageDigest": digest},
    }
    pages = []
    with aws_errors():
        while True:
            try:
                page = repository.client.describe_image_scan_findings(**query)
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") == _NOT_STARTED:
                    return _NOT_STARTED, "", []
                raise
            pages.append(page)
            if not (token := page.get("nextToken")):
                break
            query["nextToken"] = token
    told = page.get("imageScanStatus", {})
    return told.get("status", "without a status"), told.get("description", ""), pages


def _critical(pages: "Sequence[DescribeImageScanFindingsResponseTypeDef]") -> Iterator[str]:
    """Ids of the critical findings of all pages."""
    told: list[Any] = [page.get("imageScanFindings", {}) for page in pages]
    basic = [finding for page in told for finding in page.get("findings", [])]
    enhanced = [finding for page in told for finding in page.get("enhancedFindings", [])]
    yield from (finding.get("name", UNNAMED) for finding in basic if finding.get("severity") == _CRITICAL)
    for finding in enhanced:
        # What is suppressed or closed in Inspector was judged there.
        if finding.get("severity") == _CRITICAL and finding.get("status", "ACTIVE") == "ACTIVE":
            details = finding.get("packageVulnerabilityDetails", {})
            yield details.get("vulnerabilityId") or finding.get("title") or UNNAMED
    counted = any(page.get("findingSeverityCounts", {}).get(_CRITICAL) for page in told)
    if counted and not basic and not enhanced:
        yield UNNAMED
