"""A Model's data as SageMaker brings it to its container: an archive unpacked, or a prefix copied."""

import gzip
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_aws.core.s3_address import bucket_and_key
from local_aws.sagemaker.hosts.errors import HostingError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def place_model_data(s3: "S3Client", container: dict[str, Any], folder: Path) -> None:
    """Fill `folder`, which must not exist yet, with the data that `container` names.

    Raises HostingError where there is none, and where it cannot be fetched or is not sound.
    """
    source = container.get("ModelDataSource", {}).get("S3DataSource")
    url = container.get("ModelDataUrl")
    if (source is None) == (url is None):
        raise HostingError("the model must have either a ModelDataUrl or a ModelDataSource")
    folder.mkdir()
    try:
        if source is None:
            _unpack_object(s3, str(url), folder)
        else:
            _copy_prefix(s3, source, folder)
    except (BotoCoreError, ClientError) as error:
        place = url or source["S3Uri"]
        raise HostingError(f"could not fetch the model data from {place}: {error}") from error


def _unpack_object(s3: "S3Client", url: str, folder: Path) -> None:
    bucket, key = _parts(url, "ModelDataUrl")
    if not key:
        raise HostingError(f"ModelDataUrl {url} is not an s3:// address of one object")
    with tempfile.NamedTemporaryFile(dir=folder.parent, suffix=".tar.gz") as archive:
        s3.download_fileobj(bucket, key, archive)
        archive.seek(0)
        try:
            with gzip.open(archive) as data, tarfile.open(fileobj=data, mode="r:") as packed:
                _unpack(packed, folder)
                while data.read(1 << 20):  # the checksum comes last, where tarfile does not look
                    pass
        except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
            raise HostingError(f"the model data is not a sound model.tar.gz: {error}") from error


def _unpack(packed: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive into `folder`, and nothing outside of it.

    By hand: Debian 12's own Python, 3.11.2, has no filters for `extractall` yet. Raises TarError for links,
    devices and names that lead out, and where the files are larger than the disk's free space.
    """
    left = shutil.disk_usage(folder).free
    for member in packed:
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts or not (member.isfile() or member.isdir()):
            raise tarfile.TarError(f"{member.name} is no file or folder inside it")
        left -= member.size
        if left < 0:
            raise tarfile.TarError(f"up to {member.name} it holds more bytes than the disk has free")
        target = folder / name
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        content = packed.extractfile(member)
        assert content is not None  # it is a file
        with content, target.open("wb") as out:
            shutil.copyfileobj(content, out)


def _copy_prefix(s3: "S3Client", source: dict[str, Any], folder: Path) -> None:
    if (source["S3DataType"], source["CompressionType"]) != ("S3Prefix", "None"):
        raise HostingError(
            "the local AWS hosts a ModelDataSource with S3DataType S3Prefix and CompressionType None only"
        )
    bucket, prefix = _parts(source["S3Uri"], "ModelDataSource")
    if not prefix.endswith("/"):
        raise HostingError(f"ModelDataSource {source['S3Uri']} must end in a slash, as a prefix does")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    names = [item["Key"].removeprefix(prefix) for page in pages for item in page.get("Contents", [])]
    if not names:
        raise HostingError(f"could not fetch the model data: there is nothing under {source['S3Uri']}")
    for name in names:
        if not name or ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            raise HostingError(f"the key {prefix}{name} is no name of a file in the model folder")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file(bucket, f"{prefix}{name}", str(target))


def _parts(url: str, member: str) -> tuple[str, str]:
    if not url.startswith("s3://"):
        raise HostingError(f"{member} {url} is not an s3:// address")
    return bucket_and_key(url)
