"""Calibration files as the toolkit reads them."""

from pathlib import Path

from semif.errors import SemifError
from semif_adapter.archive.calibration import LoadedCalibration, load_calibration
from semif_adapter.contract.errors import StartupError


def read_calibration(path: Path) -> LoadedCalibration:
    """A calibration file. Raises SemifError with all its problems."""
    try:
        return load_calibration(path)
    except StartupError as error:
        raise SemifError(str(error)) from None
