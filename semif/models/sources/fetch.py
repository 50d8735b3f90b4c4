"""Get the pinned file: from the cache where it is there and still right, else from its source."""

from collections.abc import Callable
from pathlib import Path

from semif.errors import SemifError
from semif.models.model_pin import ModelPin
from semif.models.pinned_file import PinnedFile
from semif.models.presets import Preset
from semif.models.sources import huggingface, pypi, s3
from semif.models.sources.cache import cached_file, sole_writer
from semif.models.sources.verify import MismatchError, verify
from semif.progress import Progress, silent
from semif.project.root import presets_root

Download = Callable[[ModelPin, Path, Progress], None]
"""Write the pin's file to a path. What comes is not trusted; it must only be bounded by the pin's size."""

DOWNLOADS: dict[str, Download] = {"hf": huggingface.download, "pypi": pypi.download, "s3": s3.download}


def fetch(wanted: Preset | ModelPin, progress: Progress = silent) -> Path:
    """Path of the pinned file, its size and SHA-256 verified in this very call.

    A local file stays where it is. Anything else is kept in the user's cache; a cached file that no longer
    verifies is fetched anew. Raises SemifError (MismatchError with both hashes) and then leaves no file
    behind, except the part of an interrupted download that the next call continues.
    """
    pin = wanted.model if isinstance(wanted, Preset) else wanted
    if pin.scheme == "file":
        return _local(pin, progress)
    download = DOWNLOADS[pin.scheme]
    return _cached(pin, lambda partial: download(pin, partial, progress), progress)


def fetch_from_hub(pin: PinnedFile, progress: Progress = silent) -> Path:
    """The same of any file of a Hugging Face repository at a commit."""
    return _cached(pin, lambda partial: huggingface.download(pin, partial, progress), progress)


def _cached(pin: PinnedFile, download: Callable[[Path], None], progress: Progress) -> Path:
    target = cached_file(pin)
    with sole_writer(target.parent):
        if target.is_file():
            try:
                verify(target, pin, progress)
            except MismatchError:
                target.unlink()
            else:
                return target
        partial = target.with_name(target.name + ".partial")
        download(partial)
        try:
            verify(partial, pin, progress)
        except MismatchError:
            partial.unlink()
            raise
        partial.replace(target)
    return target


def _local(pin: ModelPin, progress: Progress) -> Path:
    path = Path(pin.source.removeprefix("file:")).expanduser()
    path = path if path.is_absolute() else presets_root() / path
    if not path.is_file():
        raise SemifError(f"{path} is not a file; correct the source of {pin.file}")
    verify(path, pin, progress)
    return path
