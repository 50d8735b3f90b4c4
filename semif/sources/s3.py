"""A file in S3, by its key and, where one is pinned, its object version."""

from pathlib import Path
from typing import TYPE_CHECKING

from semif.errors import SemifError
from semif.pins import ModelPin
from semif.progress import Progress
from semif.s3_uri import S3Uri

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def download(pin: ModelPin, target: Path, progress: Progress, *, client: "S3Client | None" = None) -> None:
    """Write the object to `target` by a managed transfer; an object of another size is not even begun.

    Raises SemifError and then leaves no `target`.
    """
    from semif.aws import Aws, aws_errors  # noqa: PLC0415 - boto3 is slow to import, and most sources need none

    where = S3Uri.parse(pin.source)
    step, done = f"download {pin.source}", 0

    def count(new: int) -> None:
        nonlocal done
        done += new
        progress(step, done, pin.bytes)

    with aws_errors():
        client = client or Aws.from_profile(region=None).s3
        version = {"VersionId": pin.revision} if pin.revision else {}
        size = client.head_object(Bucket=where.bucket, Key=where.key, **version)["ContentLength"]  # type: ignore[arg-type]
        if size != pin.bytes:
            raise SemifError(
                f"{pin.source} has {size:,} bytes, pinned are {pin.bytes:,}; correct the source or the pin"
            )
        try:
            client.download_file(where.bucket, where.key, str(target), ExtraArgs=version, Callback=count)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
