"""What goes wrong behind an endpoint."""


class HostingError(Exception):
    """The container cannot be started; the message becomes the endpoint's FailureReason."""
