"""`s3://bucket/key`, taken apart once."""

import re
from dataclasses import dataclass
from typing import Self

from semif.errors import SemifError

# Bucket names by S3's rules; keys as far as they need no escaping in a URI, which ours never do.
_URI = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<key>[A-Za-z0-9!_.*'()/=+@,:-]*))?"
)
MAX_KEY = 1024


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
