"""`MANIFEST.sha256` of a checkpoint: what its publisher says of the files, held against what is pinned."""

import re
from collections.abc import Iterator

from semif.errors import SemifError, shown
from semif.models.checkpoint.checkpoint_preset import HASHES_FILE, CheckpointPreset

_LINE = re.compile(r"([0-9a-f]{64}) [ *](?:\./)?([!-~][ -~]*)")


def read_hashes(content: bytes) -> dict[str, str]:
    """Path to SHA-256, from lines as `sha256sum` writes them. Raises SemifError for any other line."""
    hashes: dict[str, str] = {}
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in hashes:
            raise SemifError(
                f"line {number} of {HASHES_FILE} is no SHA-256 and path, or names a file twice: {shown(line)}"
            )
        hashes[match[2]] = match[1]
    return hashes


def differences(preset: CheckpointPreset, content: bytes) -> Iterator[str]:
    """Each pinned file of the checkpoint of which `content`, its MANIFEST.sha256, says something else."""
    hashes = read_hashes(content)
    for pin in preset.checkpoint.files:
        said = hashes.get(pin.file)
        if pin.file != HASHES_FILE and said != pin.sha256:
            yield (
                f"{pin.file} is pinned with SHA-256 {pin.sha256}, {HASHES_FILE} of "
                f"{preset.checkpoint.repository} {'does not name it' if said is None else f'says {said}'}"
            )
