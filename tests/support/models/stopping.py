"""A progress that notes what is read back from S3, and may stop it."""


class StoppedError(Exception):
    """By whoever waits for it."""


class ReadBacks:
    """Counts the files that were read back; with `stop_after` it stops the one after so many."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.files = 0
        self._stop_after = stop_after

    def __call__(self, step: str, done: int, total: int) -> None:
        if step != "read back":
            return
        if self.files == self._stop_after:
            raise StoppedError
        self.files += done == total
