"""Pinning a model of the hub: a repository and a file become a preset of models/."""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import ValidationError

from semif.errors import ProblemsError, SemifError, printable, problems_of, shown
from semif.models.gguf_file import check_servable, stem_of
from semif.models.hub_header import read_hub_header
from semif.models.hub_lookup import HubFile, find_file
from semif.models.presets import Preset, load_preset, preset_names
from semif.project.root import project_root
from semif.project.toml_edit import TomlValue, toml_value, with_keys
from semif.project.whole_files import write_whole
from semif_adapter.archive.manifest import PromptSpec
from semif_adapter.contract.wire import Readout

DEFAULT_REVISION = "main"

_MODEL = re.compile(
    r"hf:(?://)?([A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*)(?:@([A-Za-z0-9][A-Za-z0-9._/-]{0,199}))?"
)
_QUANTIZATION = re.compile(
    r"(?:^|[-._])((?:I?Q|TQ)[0-9]+(?:_[A-Z0-9]+)*|BF16|F16|F32|MXFP4(?:_[A-Z0-9]+)*)$", re.IGNORECASE
)
_NO_LICENSE = "not stated on the hub"


@dataclass(frozen=True)
class ModelPinned:
    """A preset that was written."""

    path: Path
    preset: Preset
    previous: Preset | None
    """What the file held before, where it held the same file of the same repository."""


def pin_model(
    model: str,
    file: str,
    today: date,
    *,
    name: str | None = None,
    readout: Readout | None = None,
    quantization: str | None = None,
    force: bool = False,
) -> ModelPinned:
    """Resolve `model` (`hf:OWNER/REPOSITORY[@REVISION]`) and write the preset of its `file`.

    A preset of the same file of the same repository gets the new revision, size and hash, and keeps its own
    words and how it is asked, unless `readout` says otherwise. A model with a decision head, which its header
    tells, is asked by that. Raises SemifError where another model has the preset's name and `force` is not
    set, where file or revision are not there, for a file that no preset can hold, for a model that is not
    served or not asked by `readout`, and where the preset's calibration is not the file's.
    """
    repository, revision = parsed_model(model)
    name = name or _name_of(file)
    previous = _previous(name, f"hf://{repository}", file, force=force)
    quantization = quantization or (previous.quantization if previous else _quantization_of(file))
    hub_file = find_file(repository, revision, file)
    path = project_root() / "models" / f"{name}.toml"
    prompt = _prompt(hub_file, readout, previous)
    preset = _preset(name, hub_file, quantization, prompt, previous, today=today)
    preset.manifest()  # raises where its calibration is of the file as it was
    if previous is None:
        text = _text(preset)
    else:
        text = path.read_text(encoding="utf-8")
        pinned: dict[str, TomlValue | None] = {"revision": hub_file.commit, "bytes": hub_file.bytes}
        pinned |= {"sha256": hub_file.sha256, "checked_on": today}
        text = with_keys(text, "model", pinned)
        if preset.prompt != previous.prompt:
            text = with_keys(text, "prompt", {"readout": preset.prompt.readout, "head": preset.prompt.head})
    write_whole(path, text.encode())
    return ModelPinned(path, load_preset(name), previous)


def parsed_model(model: str) -> tuple[str, str]:
    """Repository and revision of `hf:OWNER/REPOSITORY[@REVISION]`. Raises SemifError."""
    match = _MODEL.fullmatch(model)
    if match is None or ".." in model:
        raise SemifError(f"{shown(model)} is no model of the hub; write hf:OWNER/REPOSITORY or …@REVISION")
    return match[1], match[2] or DEFAULT_REVISION


def _name_of(file: str) -> str:
    """A preset's name after the file's: lower case, underscores as hyphens."""
    stem = stem_of(file).lower().replace("_", "-")
    return re.sub(r"[^a-z0-9.-]+", "-", stem).strip("-.")[:63]


def _quantization_of(file: str) -> str:
    match = _QUANTIZATION.search(stem_of(file))
    if match is None:
        raise SemifError(f"{shown(file)} does not end in a quantization, such as Q4_K_M; give --quantization")
    return match[1].upper()


def _previous(name: str, source: str, file: str, *, force: bool) -> Preset | None:
    """The preset that this pin moves, None where it is a new one."""
    if name not in preset_names():
        return None
    try:
        preset = load_preset(name)
    except SemifError:
        if force:
            return None
        raise
    if (preset.model.source, preset.model.file) == (source, file):
        return preset
    if force:
        return None
    raise SemifError(
        f"models/{name}.toml holds {preset.model.file} of {preset.model.source}; give another --name, or "
        "--force to replace it"
    )


def _prompt(hub_file: HubFile, readout: Readout | None, previous: Preset | None) -> PromptSpec:
    """How the file is asked: by the head that its header tells of, else as said, or as before."""
    header = read_hub_header(hub_file)
    check_servable(hub_file.file, header)
    before = previous.prompt if previous else PromptSpec(readout="letters")
    head = header.decision_type
    if head is not None:
        if readout is not None:
            raise SemifError(
                f"{hub_file.file} has a decision head ({head}), which is asked in its own way; leave out "
                f"--readout {readout}"
            )
        return PromptSpec(readout="head", head=head, template=before.template)
    asked = readout or ("letters" if before.head else before.readout)
    return PromptSpec(readout=asked, template=before.template)


def _preset(
    name: str,
    hub_file: HubFile,
    quantization: str,
    prompt: PromptSpec,
    previous: Preset | None,
    *,
    today: date,
) -> Preset:
    content = {
        "name": name,
        "description": f"{stem_of(hub_file.file)}, from {hub_file.repository}",
        "license": printable(hub_file.license or _NO_LICENSE),
        "quantization": quantization,
        "model": {
            "source": f"hf://{hub_file.repository}",
            "revision": hub_file.commit,
            "file": hub_file.file,
            "bytes": hub_file.bytes,
            "sha256": hub_file.sha256,
            "checked_on": today,
        },
        "prompt": prompt,
        "calibration": previous.calibration if previous else None,
    }
    try:
        return Preset.model_validate(content)
    except ValidationError as error:
        raise ProblemsError(f"{hub_file.file} of {hub_file.repository}", problems_of(error)) from None


def _text(preset: Preset) -> str:
    """A new preset's file."""
    pin = preset.model
    tables: dict[str, dict[str, TomlValue | None]] = {
        "": {
            "description": preset.description,
            "license": preset.license,
            "quantization": preset.quantization,
        },
        "model": {
            "source": pin.source,
            "revision": pin.revision,
            "file": pin.file,
            "bytes": pin.bytes,
            "sha256": pin.sha256,
            "checked_on": pin.checked_on,
        },
        "prompt": {
            "readout": preset.prompt.readout,
            "head": preset.prompt.head,
            "template": None if preset.prompt.head else preset.prompt.template,
        },
    }
    return "\n".join(
        (f"[{table}]\n" if table else "")
        + "".join(f"{key} = {toml_value(value)}\n" for key, value in values.items() if value is not None)
        for table, values in tables.items()
    )
