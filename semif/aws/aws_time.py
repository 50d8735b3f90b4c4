"""What time it is, as AWS has it: this machine's clock may be wrong, or be set while a command runs."""

import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any


class AwsTime:
    """AWS's clock, by the `Date` of its latest reply; until one came, this machine's."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def hear(self, reply: Mapping[str, Any]) -> None:
        """`reply`, of any call by boto3; one without a date that can be read changes nothing."""
        date = reply.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", "")
        with suppress(ValueError):
            self._ahead = parsedate_to_datetime(date).timestamp() - time.monotonic()

    def now(self) -> float:
        """Seconds since the epoch, to about a second."""
        return time.monotonic() + self._ahead
