"""Get the pinned files of a checkpoint and of its base model, and hear what the publisher says of them."""

import json
from pathlib import Path

from semif.errors import ProblemsError, SemifError, shown
from semif.models.checkpoint.checkpoint_preset import CONFIG_FILES, HASHES_FILE, CheckpointPreset
from semif.models.checkpoint.published_hashes import differences
from semif.models.sources.fetch import fetch_from_hub
from semif.progress import Progress, silent

PROVENANCE_FILE = "provenance.json"


def fetch_checkpoint(preset: CheckpointPreset, progress: Progress = silent) -> tuple[Path, ...]:
    """Paths of all files in the manifest's order, size and SHA-256 of each verified in this very call.

    Raises SemifError where a file cannot be had, and ProblemsError where the checkpoint's own MANIFEST.sha256
    says otherwise of a file than the pin, or its configuration names another base model.
    """
    paths = tuple(fetch_from_hub(pin, progress) for pin in preset.downloads)
    of = dict(zip(preset.checkpoint.names, paths, strict=False))
    problems = list(differences(preset, of[HASHES_FILE].read_bytes()))
    config = next(name for name in CONFIG_FILES if name in of)
    provenance = of[PROVENANCE_FILE].read_bytes() if PROVENANCE_FILE in of else None
    base = base_of(of[config].read_bytes(), provenance)
    if base != (pinned := (preset.base.repository, preset.base.revision)):
        problems.append(
            f"{config} is of the base model {'@'.join(base)}, pinned is {'@'.join(pinned)}: the server would "
            "look for another one"
        )
    if problems:
        raise ProblemsError(f"the checkpoint {preset.name}", problems)
    return paths


def base_of(config: bytes, provenance: bytes | None) -> tuple[str, str]:
    """Repository and commit of the base model, as the server finds them.

    The configuration names both, or else `provenance.json` the commit for the same repository
    (`base_revision` in modeling.py of strands-labs/strands-decider, read on 2026-11-30). Raises SemifError
    where neither names a commit: the server would take whatever it finds.
    """
    told = _object(config, "the checkpoint's configuration")
    model, revision = told.get("base_model"), told.get("base_revision")
    if not revision and provenance is not None:
        of_export = _object(provenance, PROVENANCE_FILE)
        revision = of_export.get("base_model_revision") if of_export.get("base_model") == model else None
    if not isinstance(model, str) or not isinstance(revision, str):
        raise SemifError(
            f"the checkpoint names no base model at a commit (base_model {shown(model)}, base_revision "
            f"{shown(revision)}), so that none can be pinned for it"
        )
    return model, revision


def _object(content: bytes, what: str) -> dict[str, object]:
    try:
        told = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SemifError(f"{what} is not JSON: {error}") from None
    if not isinstance(told, dict):
        raise SemifError(f"{what} is no JSON object")
    return told
