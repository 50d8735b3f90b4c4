"""The partitions of AWS: `aws`, `aws-cn` and so on. What is of one cannot be used from another."""

from functools import cache


@cache
def partition_of(region: str) -> str | None:
    """The partition of `region`, by botocore's tables; None for a region of none."""
    # Whoever reads an environment or a lock loads this module, and most name no role to be compared.
    import botocore.session  # noqa: PLC0415
    from botocore.exceptions import UnknownRegionError  # noqa: PLC0415

    try:
        return str(botocore.session.get_session().get_partition_for_region(region))
    except UnknownRegionError:
        return None
