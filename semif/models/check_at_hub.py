"""Presets of the hub's models against the hub: is each file there what its preset pins?"""

from semif.errors import SemifError, shown
from semif.models.gguf_file import check_servable
from semif.models.hub_header import read_hub_header
from semif.models.hub_lookup import HubFile, find_file
from semif.models.presets import Preset


def differences(preset: Preset) -> list[str]:
    """What the hub says otherwise than `preset`, one by one; nothing where all is as it is pinned.

    Nothing of the weights is downloaded: the hub's size and SHA-256 are compared, and the file's header.
    Raises SemifError for a preset of another source.
    """
    pin = preset.model
    if pin.scheme != "hf":
        raise SemifError(f"the preset {preset.name} is of {pin.source}, which is not on the hub")
    assert pin.revision is not None
    try:
        hub_file = find_file(pin.source.removeprefix("hf://"), pin.revision, pin.file)
        head = _head(hub_file)
    except SemifError as error:
        return [str(error)]
    told = [
        (hub_file.bytes != pin.bytes, f"has {hub_file.bytes:,} bytes, pinned are {pin.bytes:,}"),
        (hub_file.sha256 != pin.sha256, f"has SHA-256 {hub_file.sha256}, pinned is {pin.sha256}"),
        (
            _other_license(hub_file, preset),
            f"has the licence {shown(hub_file.license)}, not {preset.license!r}",
        ),
    ]
    found = [f"{pin.file} {problem}" for differs, problem in told if differs]
    return [*found, *filter(None, (preset.prompt.problem_with(head),))]


def _head(hub_file: HubFile) -> str | None:
    header = read_hub_header(hub_file)
    check_servable(hub_file.file, header)
    return header.decision_type


def _other_license(hub_file: HubFile, preset: Preset) -> bool:
    """The hub writes names in lower case; what it does not state is no contradiction."""
    return hub_file.license is not None and hub_file.license.casefold() != preset.license.casefold()
