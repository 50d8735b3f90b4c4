"""Pins, presets and projects over small files."""

import hashlib
from pathlib import Path
from typing import Any

from semif.models.model_pin import ModelPin
from semif.models.presets import Preset


def pin_of(path: Path, **changed: Any) -> ModelPin:
    """The pin under which `path` is what it is; `changed` replaces fields."""
    data = path.read_bytes()
    fields = {
        "source": f"file:{path}",
        "file": path.name,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    return ModelPin.model_validate({**fields, **changed})


def preset_of(path: Path, **changed: Any) -> Preset:
    """A preset of the local file `path`; `changed` replaces fields of its pin."""
    return Preset.model_validate(
        {
            "name": "small",
            "description": "a small file",
            "license": "Apache-2.0",
            "quantization": "F32",
            "model": pin_of(path, **changed),
            "prompt": {"readout": "text", "template": "plain"},
        }
    )


def files_below(folder: Path) -> list[str]:
    """Every file below `folder`, lock files of the cache excepted."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name != ".lock"
    )
