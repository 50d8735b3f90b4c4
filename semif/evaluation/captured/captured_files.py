"""Where SageMaker puts what it captures of an environment's endpoint, and the lines that lie there."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

from semif.aws.clients import Aws, aws_errors
from semif.aws.stacks import require_stack
from semif.errors import SemifError
from semif.sagemaker.bucket_folders import CAPTURED
from semif.target.target import Target

MAX_OBJECT_BYTES = 1 << 28
"""Of one captured file, which SageMaker closes after minutes."""

_DAY = re.compile(r".+/(\d{4}/\d{2}/\d{2})/\d{2}/[^/]+\.jsonl")
"""`…/VARIANT/yyyy/mm/dd/hh/NAME.jsonl` ("Capture data from real-time endpoint", SageMaker's guide)."""


def captured_lines(target: Target, since: date | None) -> Iterator[bytes]:
    """The lines that were captured on the day `since` (UTC) and later, None: all; the oldest file first.

    Raises SemifError where the environment captures nothing, and where nothing of it is deployed.
    """
    environment = target.environment
    if environment.data_capture is None:
        raise SemifError(f"{environment.name} captures nothing; add [data_capture] to its file and deploy it")
    stack = require_stack(
        target.aws, environment.endpoint_stack, missing=f"run `semif deploy {target.command_line}`"
    )
    bucket = stack.output("BucketName")
    for key in _keys(target.aws, bucket, f"{CAPTURED}/{environment.endpoint_name}/", since):
        with aws_errors():
            body = target.aws.s3.get_object(Bucket=bucket, Key=key)["Body"]
            content = body.read(MAX_OBJECT_BYTES + 1)
        if len(content) > MAX_OBJECT_BYTES:
            raise SemifError(f"s3://{bucket}/{key} is longer than {MAX_OBJECT_BYTES:,} bytes; look at it")
        yield from (line for line in content.split(b"\n") if line.strip())


def _keys(aws: Aws, bucket: str, folder: str, since: date | None) -> Iterator[str]:
    pages = aws.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=folder)
    with aws_errors():
        for page in pages:
            for item in page.get("Contents", []):
                match = _DAY.fullmatch(item["Key"])
                if match and (since is None or _day(match[1]) >= since):
                    yield item["Key"]


def _day(text: str) -> date:
    return datetime.strptime(text, "%Y/%m/%d").replace(tzinfo=UTC).date()
