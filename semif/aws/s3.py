"""Places in S3, and what lies there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from botocore.exceptions import ClientError

from semif.aws.clients import aws_errors
from semif.errors import SemifError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import HeadObjectOutputTypeDef

# Bucket names by S3's rules; keys as far as they need no escaping in a URI, which ours never do.
_URI = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<key>[A-Za-z0-9!_.*'()/=+@,:-]*))?"
)
MAX_KEY = 1024
_VERSIONS_A_CALL = 1000
"""Of DeleteObjects (S3's API reference, read 2026-11-30)."""


class NoBucketError(SemifError):
    """There is no bucket of that name."""


@dataclass(frozen=True)
class S3Uri:
    """A place in S3. `key` has no leading or trailing slash, and is empty for the bucket itself."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises SemifError, saying what is allowed."""
        match = _URI.fullmatch(text)
        if match is None or len(match["key"] or "") > MAX_KEY:
            raise SemifError(
                f"{text[:200]!r} is not an S3 place, allowed is s3://bucket or s3://bucket/prefix"
            )
        return cls(match["bucket"], (match["key"] or "").strip("/"))

    def child(self, *names: str) -> "S3Uri":
        """The place below this one."""
        return S3Uri(self.bucket, "/".join(part for part in (self.key, *names) if part))

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}" if self.key else f"s3://{self.bucket}"


def head(client: "S3Client", uri: S3Uri, version: str | None = None) -> "HeadObjectOutputTypeDef | None":
    """What S3 says about the object at `uri`; None where there is none.

    Raises NoBucketError where the bucket does not exist, SemifError where access is denied.
    """
    with aws_errors():
        try:
            if version:
                return client.head_object(Bucket=uri.bucket, Key=uri.key, VersionId=version)
            return client.head_object(Bucket=uri.bucket, Key=uri.key)
        except ClientError as error:
            if _status(error) == 403:
                # Without s3:ListBucket, S3 answers for a missing object as for a forbidden one.
                needed = "s3:GetObject on the object and s3:ListBucket on the bucket are needed"
                raise SemifError(f"access to {uri} is denied; {needed}") from error
            if _status(error) != 404:
                raise
        try:
            client.head_bucket(Bucket=uri.bucket)
        except ClientError as error:
            if _status(error) != 404:
                raise
            raise NoBucketError(
                f"the bucket of {uri} does not exist; create it or correct its name"
            ) from error
    return None


def delete_versions(client: "S3Client", bucket: str, versions: Sequence[tuple[str, str]]) -> None:
    """Delete versions and delete markers for good, each by its key and its version id.

    Without a version id a versioned bucket would only hide the object, and keep and bill its bytes ("Deleting
    object versions", S3 user guide, read 2026-11-30). In a bucket without versions the id is `null`. Raises
    SemifError where S3 does not delete one.
    """
    for first in range(0, len(versions), _VERSIONS_A_CALL):
        with aws_errors():
            reply = client.delete_objects(
                Bucket=bucket,
                Delete={
                    "Objects": [
                        {"Key": key, "VersionId": version}
                        for key, version in versions[first : first + _VERSIONS_A_CALL]
                    ],
                    "Quiet": True,
                },
            )
        if problems := reply.get("Errors"):
            raise SemifError(
                f"{len(problems)} objects of {bucket} could not be deleted, the first is "
                f"{problems[0].get('Key')}: {problems[0].get('Message')}"
            )


def _status(error: ClientError) -> int:
    return error.response["ResponseMetadata"]["HTTPStatusCode"]
