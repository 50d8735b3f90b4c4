"""Presets of every sort by their names: of one GGUF, or of a checkpoint and its base model."""

from semif.models.checkpoint.checkpoint_preset import checkpoint_names, load_checkpoint
from semif.models.presets import AnyPreset, load_preset, preset_names


def any_preset_names() -> tuple[str, ...]:
    """All names, those of GGUFs first."""
    return (*preset_names(), *checkpoint_names())


def load_any_preset(name: str) -> AnyPreset:
    """The preset of this name; one of a GGUF goes first. Raises SemifError as `load_preset`."""
    if name in checkpoint_names() and name not in preset_names():
        return load_checkpoint(name)
    return load_preset(name)
