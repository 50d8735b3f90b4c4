"""The adapter's own figure of how fast it computes, from its log in CloudWatch or from its `/metrics`."""

import json
import math
import re
import statistics
import time

import urllib3

from semif.aws.clients import Aws
from semif.aws.container_log import ContainerLog, read_log
from semif.errors import SemifError
from semif.sagemaker.log_groups import log_group
from semif.web.connections import check_url
from semif.web.lookups import get
from semif_adapter.contract.figures import TOKENS_PER_SECOND

LOOK_BACK_SECONDS = 3600
_MAX_PAGE_BYTES = 1_048_576
_TIMEOUT = urllib3.Timeout(connect=5, read=10)


def rate_from_log(aws: Aws, endpoint: str) -> tuple[float, int]:
    """Tokens per second an instance: the median of the last hour's figures, and how many there were.

    The adapter prints its running estimate every minute. Raises SemifError where there is none.
    """
    since = time.time() - LOOK_BACK_SECONDS
    lines = read_log(
        aws, ContainerLog.of_endpoint(endpoint), since=since, pattern=f'"{TOKENS_PER_SECOND.name}"'
    )
    rates = [rate for line in lines if (rate := _rate(line.message)) is not None]
    if not rates:
        raise SemifError(
            f"{log_group(endpoint)} holds no {TOKENS_PER_SECOND.name} of the last hour; ask the endpoint for "
            "some minutes"
        )
    return statistics.median(rates), len(rates)


def rate_from_url(url: str) -> float:
    """Tokens per second that the adapter at `url` (its base) tells. Raises SemifError where it tells none."""
    check_url(url)
    pool = urllib3.PoolManager(timeout=_TIMEOUT, retries=urllib3.Retry(total=0))
    reply = get(pool, url.rstrip("/") + "/metrics", {}, limit=_MAX_PAGE_BYTES)
    page = reply.body.decode(errors="replace")
    series = re.search(rf"^{TOKENS_PER_SECOND.series} (\S+)$", page, re.MULTILINE)
    try:
        rate = float(series[1]) if series else 0.0
    except ValueError:
        rate = 0.0
    if not 0 < rate < math.inf:
        raise SemifError(f"{url} tells no {TOKENS_PER_SECOND.series}; is it an adapter's address?")
    return rate


def _rate(message: str) -> float | None:
    try:
        value = json.loads(message)[TOKENS_PER_SECOND.name]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return float(value) if isinstance(value, int | float) and 0 < value < math.inf else None
