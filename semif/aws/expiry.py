"""When a throw-away endpoint is deleted: the time as a template and its stack have it.

A template must be the same for the same files, so the time is none of its own: it is a parameter, which each
deployment gives anew. A deployment so puts the end off.
"""

from datetime import UTC, datetime, timedelta

EXPIRES_AT = "ExpiresAt"
"""The template's parameter."""
EXPIRY_OUTPUT = "EndpointExpiresAt"
"""The stack's output that repeats it."""
TIME_PATTERN = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
"""As a one-time schedule of EventBridge Scheduler has it, `at(yyyy-mm-ddThh:mm:ss)`; in UTC here."""
_FORMAT = "%Y-%m-%dT%H:%M:%S"


def expiry_after(hours: int, now: datetime) -> str:
    """The time `hours` after `now`, as the parameter has it; at the next full minute, as schedules run."""
    end = now.astimezone(UTC) + timedelta(hours=hours, minutes=1, microseconds=-1)
    return end.replace(second=0, microsecond=0).strftime(_FORMAT)


def read_expiry(text: str) -> datetime:
    """The time that a stack repeats. Raises ValueError where it is none."""
    return datetime.strptime(text, _FORMAT).replace(tzinfo=UTC)
