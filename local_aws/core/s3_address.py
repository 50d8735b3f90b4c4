"""Addresses of objects and prefixes in S3."""

from urllib.parse import urlparse


def bucket_and_key(address: str) -> tuple[str, str]:
    """The two of `s3://BUCKET/KEY`. The key keeps a slash at its end."""
    parts = urlparse(address)
    return parts.netloc, parts.path.lstrip("/")
