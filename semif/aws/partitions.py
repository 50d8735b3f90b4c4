"""The partitions of AWS: `aws`, `aws-cn` and so on. What is of one cannot be used from another."""

from functools import cache

import botocore.session
from botocore.exceptions import UnknownRegionError


@cache
def partition_of(region: str) -> str | None:
    """The partition of `region`, by botocore's tables; None for a region of none."""
    try:
        return str(botocore.session.get_session().get_partition_for_region(region))
    except UnknownRegionError:
        return None
