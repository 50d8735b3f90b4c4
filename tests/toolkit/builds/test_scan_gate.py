"""The scan of an image: what is critical stops its lock, unless accepted; what was not scanned is told."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import botocore.session
import pytest
from moto import mock_aws

from semif.aws.clients import Aws
from semif.builds.codebuild import BuildError
from semif.builds.scan_gate import check_scans
from semif.environment.environment import Environment, load_environment
from semif.errors import ProblemsError
from semif.images import scan_findings
from semif.images.image_ref import ImageRef
from semif.images.scan_findings import SCAN_SECONDS, UNNAMED
from semif.project.root import project_root
from semif.target.target import Target
from tests.support.servers.image_scans import NOT_FOUND, scan, scanned

IMAGE = ImageRef.parse(f"123456789012.dkr.ecr.us-east-1.amazonaws.com/semif@sha256:{'d' * 64}")
STATES = set(
    botocore.session.get_session().get_service_model("ecr").shape_for("ScanStatus").enum  # type: ignore[attr-defined]
)


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.delenv("AWS_PROFILE", raising=False)
        yield Aws(region="us-east-1")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Waiting only moves the time on."""
    clock = SimpleNamespace(now=0.0)
    time = SimpleNamespace(
        monotonic=lambda: clock.now, sleep=lambda seconds: setattr(clock, "now", clock.now + seconds)
    )
    monkeypatch.setattr(scan_findings, "time", time)
    return clock


def target(aws: Aws, **accepted: str) -> Target:
    findings = {name.replace("_", "-"): why for name, why in accepted.items()}
    environment = load_environment("demo").model_copy(update={"accepted_findings": findings})
    lock = Path("demo.lock.json")
    return Target(project_root(), environment, aws, "123456789012", lock, local=False, poll_seconds=5)


def notes_of(where: Target, images: Sequence[ImageRef] = (IMAGE,)) -> list[str]:
    notes: list[str] = []
    check_scans(where, images, notes.append)
    return notes


def test_a_clean_image_passes_without_a_word(aws: Aws, clock: SimpleNamespace) -> None:
    with scanned(aws, NOT_FOUND, scan("IN_PROGRESS"), scan("COMPLETE")) as asked:
        assert notes_of(target(aws)) == []
    assert len(asked) == 3
    assert clock.now == 10
    assert f'"imageDigest": "{IMAGE.digest}"' in asked[0]


@pytest.mark.parametrize(
    "reply",
    [
        scan("COMPLETE", "CVE-2026-1111", "CVE-2026-2222"),
        {
            "imageScanStatus": {"status": "ACTIVE"},
            "imageScanFindings": {
                "enhancedFindings": [
                    {
                        "severity": "CRITICAL",
                        "status": status,
                        "packageVulnerabilityDetails": {"vulnerabilityId": name},
                    }
                    for name, status in (
                        ("CVE-2026-1111", "ACTIVE"),
                        ("CVE-2026-2222", "ACTIVE"),
                        ("CVE-2026-3333", "SUPPRESSED"),
                    )
                ]
            },
        },
    ],
    ids=["basic", "enhanced"],
)
def test_what_is_critical_stops_the_lock_unless_each_is_accepted(aws: Aws, reply: dict[str, Any]) -> None:
    with scanned(aws, reply):
        with pytest.raises(BuildError, match=r"critical findings: CVE-2026-1111, CVE-2026-2222; the lock"):
            check_scans(target(aws), [IMAGE], pytest.fail)
        with pytest.raises(BuildError, match=r"critical findings: CVE-2026-2222; .*\[accepted_findings\]"):
            check_scans(target(aws, CVE_2026_1111="J. Doe: not reachable"), [IMAGE], pytest.fail)
        both = target(aws, CVE_2026_1111="J. Doe: not reachable", CVE_2026_2222="J. Doe: not called")
        assert notes_of(both) == [
            "CVE-2026-1111 is a critical finding, accepted: J. Doe: not reachable",
            "CVE-2026-2222 is a critical finding, accepted: J. Doe: not called",
        ]


def test_findings_on_later_pages_count_and_counts_without_names_do_too(aws: Aws) -> None:
    with scanned(aws, scan("COMPLETE", nextToken="more"), scan("COMPLETE", "CVE-2026-1111")) as asked:
        with pytest.raises(BuildError, match="CVE-2026-1111"):
            check_scans(target(aws), [IMAGE], pytest.fail)
        assert '"nextToken": "more"' in asked[1]
    counted = {"findingSeverityCounts": {"CRITICAL": 2}}
    reply = {"imageScanStatus": {"status": "COMPLETE"}, "imageScanFindings": counted}
    with scanned(aws, reply), pytest.raises(BuildError, match=UNNAMED):
        check_scans(target(aws), [IMAGE], pytest.fail)


def test_what_is_accepted_and_gone_is_told(aws: Aws) -> None:
    with scanned(aws, scan("COMPLETE")):
        (note,) = notes_of(target(aws, CVE_2026_1111="J. Doe: not reachable"))
    assert note.endswith("[accepted_findings]: CVE-2026-1111")


@pytest.mark.parametrize("status", sorted(STATES - {"COMPLETE", "ACTIVE", "IN_PROGRESS", "PENDING"}))
def test_an_image_that_was_not_scanned_is_not_called_clean(aws: Aws, status: str) -> None:
    with scanned(aws, {"imageScanStatus": {"status": status, "description": "some reason"}}):
        (note,) = notes_of(target(aws))
    assert note == f"the image was not scanned, nobody knows what is in it: {status}: some reason"


@pytest.mark.parametrize(
    ("reply", "said", "seconds"),
    [
        (NOT_FOUND, "does not scan what is pushed", 65),
        (scan("PENDING"), "the scan was still PENDING after 900 s", SCAN_SECONDS + 5),
    ],
)
def test_a_scan_is_not_waited_for_for_ever(
    aws: Aws, clock: SimpleNamespace, reply: dict[str, Any] | str, said: str, seconds: float
) -> None:
    with scanned(aws, reply):
        (note,) = notes_of(target(aws))
    assert said in note
    assert clock.now == seconds


ACCEPTED = """kind = "decision"
removal = "destroy"
[model]
preset = "embedded"
[endpoint]
instance_type = "ml.c6i.large"
[accepted_findings]
"""


def test_a_finding_is_accepted_by_its_id_and_with_a_reason(environment_of: Any) -> None:
    read: Environment = environment_of(f'{ACCEPTED}"CVE-2026-12345" = "J. Doe: nothing calls it"\n')
    assert read.accepted_findings == {"CVE-2026-12345": "J. Doe: nothing calls it"}
    for line, said in (
        ('"*" = "J. Doe: nothing calls it"', "a finding's id, such as CVE-2026-12345"),
        ('"CVE-2026-12345" = "ok"', "'ok' must say who accepts the finding, and why"),
        ('"CVE-2026-12345" = ""', "'' must say who accepts the finding, and why, in 10 to 500"),
    ):
        with pytest.raises(ProblemsError, match=said):
            environment_of(f"{ACCEPTED}{line}\n")
    with pytest.raises(ProblemsError, match=r"\[accepted_findings\] is for images that are built"):
        environment_of(f'{ACCEPTED.replace("decision", "text")}"CVE-2026-12345" = "J. Doe: is not there"\n')


def test_a_finding_of_one_of_two_images_is_found(aws: Aws) -> None:
    where = target(aws, CVE_2026_1111="J. Doe: not reachable", CVE_2026_2222="J. Doe: gone")
    with scanned(aws, scan("COMPLETE", "CVE-2026-1111"), scan("COMPLETE")):
        notes = notes_of(where, (IMAGE, IMAGE))
    assert notes == [
        "CVE-2026-1111 is a critical finding, accepted: J. Doe: not reachable",
        "not found (any more), take it out of [accepted_findings]: CVE-2026-2222",
    ]
