"""A file in S3, by its key and, where one is pinned, its object version."""

from pathlib import Path

from semif.aws.clients import Aws, aws_errors
from semif.aws.s3 import S3Uri, head
from semif.errors import SemifError
from semif.models.model_pin import ModelPin
from semif.progress import Progress


def download(pin: ModelPin, target: Path, progress: Progress) -> None:
    """Write the object to `target` by a managed transfer; an object of another size is not even begun.

    Raises SemifError and then leaves no `target`.
    """
    where = S3Uri.parse(pin.source)
    step, done = f"download {pin.file}", 0

    def count(new: int) -> None:
        nonlocal done
        done += new
        progress(step, done, pin.bytes)

    client = Aws.from_profile(region=None).s3
    metadata = head(client, where, pin.revision)
    if metadata is None:
        raise SemifError(f"{pin.source} does not exist; correct the source of {pin.file}")
    size = metadata["ContentLength"]
    if size != pin.bytes:
        raise SemifError(f"{pin.source} has {size:,} bytes, pinned are {pin.bytes:,}; correct source or pin")
    # Of a bucket with versions the one that was looked at, whatever takes its place meanwhile.
    which = pin.revision or metadata.get("VersionId")
    version = {"VersionId": which} if which and which != "null" else {}
    try:
        with aws_errors(), target.open("wb") as out:
            client.download_fileobj(where.bucket, where.key, out, ExtraArgs=version, Callback=count)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
