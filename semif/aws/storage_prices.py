"""What storage costs, roughly: in us-east-1, to tell cents from a hundred dollars."""

PRICES_OF = "us-east-1, November 2026"
"""S3 Standard's first 50 TB and private ECR repositories; read at second hand, not in AWS's price list."""
S3_USD_PER_GB_MONTH = 0.023
ECR_USD_PER_GB_MONTH = 0.10
_GB = 1 << 30


def usd_per_month(*, s3_bytes: int, ecr_bytes: int) -> float:
    """What so many bytes cost in a month."""
    return (s3_bytes * S3_USD_PER_GB_MONTH + ecr_bytes * ECR_USD_PER_GB_MONTH) / _GB
