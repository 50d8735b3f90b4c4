"""Pinning a checkpoint of the hub: two repositories become a preset of models/checkpoints/."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from semif.errors import ProblemsError, SemifError, printable, problems_of
from semif.models.checkpoint.checkpoint_preset import (
    CONFIG_FILES,
    FOLDER,
    FURTHER_FILES,
    HASHES_FILE,
    NEEDED_FILES,
    CheckpointPreset,
    FilePin,
    HubFiles,
    checkpoint_names,
)
from semif.models.checkpoint.fetch_checkpoint import PROVENANCE_FILE, base_of
from semif.models.checkpoint.published_hashes import read_hashes
from semif.models.hub_lookup import HubListing, list_files, small_file
from semif.models.pin_from_hub import parsed_model
from semif.models.presets import preset_names
from semif.project.root import project_root
from semif.project.toml_edit import toml_value
from semif.project.whole_files import write_whole

MAX_SMALL_BYTES = 32 << 20
"""Of a file that is fetched to be hashed: the hub publishes no SHA-256 of what is not in Git LFS."""


def pin_checkpoint(model: str, *, name: str | None = None, force: bool = False) -> CheckpointPreset:
    """Resolve `model` (`hf:OWNER/REPOSITORY[@REVISION]`) and its base model, and write the preset of both.

    Of the checkpoint every file that a server reads is pinned as its MANIFEST.sha256 says, and of the base
    model what lies in the root as *.json and *.safetensors, at the commit that the checkpoint names. Weights
    are not downloaded: the hub's own SHA-256 of them must be the publisher's. Raises SemifError where a file
    or a hash is missing, where hub and publisher differ, and where the name is taken and `force` is not set.
    """
    repository, revision = parsed_model(model)
    name = name or _name_of(repository)
    if name in preset_names() or (name in checkpoint_names() and not force):
        raise SemifError(f"a preset {name} is there already; give another --name, or --force to replace it")
    listing = list_files(repository, revision)
    hashes_text = small_file(listing, HASHES_FILE, MAX_SMALL_BYTES) if HASHES_FILE in listing.files else b""
    config = next((name for name in CONFIG_FILES if name in listing.files), None)
    if config is None or not hashes_text:
        raise SemifError(
            f"{repository} has no {HASHES_FILE if config else ' or '.join(CONFIG_FILES)} at "
            f"{listing.commit[:12]}: it is no published checkpoint of Strands Decider"
        )
    of_export = (
        small_file(listing, PROVENANCE_FILE, MAX_SMALL_BYTES) if PROVENANCE_FILE in listing.files else None
    )
    base = list_files(*base_of(small_file(listing, config, MAX_SMALL_BYTES), of_export))
    try:
        preset = CheckpointPreset(
            name=name,
            description=f"{repository.partition('/')[2]}, on {base.repository}",
            license=printable(listing.license or "not stated on the hub"),
            checkpoint=_part(listing, _checkpoint_files(listing, config, hashes_text)),
            base=_part(base, _base_files(base)),
        )
    except ValidationError as error:
        raise ProblemsError(repository, problems_of(error)) from None
    path = checkpoint_path(name)
    path.parent.mkdir(exist_ok=True)
    write_whole(path, _text(preset).encode())
    return preset


def checkpoint_path(name: str) -> Path:
    """Where the preset lies."""
    return project_root() / FOLDER / f"{name}.toml"


def _name_of(repository: str) -> str:
    return repository.partition("/")[2].lower().replace("_", "-")[:63]


def _part(listing: HubListing, files: Iterator[FilePin]) -> HubFiles:
    return HubFiles(repository=listing.repository, revision=listing.commit, files=tuple(files))


def _checkpoint_files(listing: HubListing, config: str, hashes_text: bytes) -> Iterator[FilePin]:
    hashes = read_hashes(hashes_text)
    yield FilePin(file=HASHES_FILE, bytes=len(hashes_text), sha256=hashlib.sha256(hashes_text).hexdigest())
    for file in sorted({config, *NEEDED_FILES, *FURTHER_FILES} - {HASHES_FILE}):
        if file not in listing.files:
            if file in FURTHER_FILES:
                continue
            raise SemifError(f"{listing.repository} has no {file} at {listing.commit[:12]}")
        size, of_hub = listing.files[file]
        said = hashes.get(file)
        if said is None or size is None:
            raise SemifError(
                f"{HASHES_FILE} of {listing.repository} does not name {file}, or the hub no size of it"
            )
        if of_hub is not None and of_hub != said:
            raise SemifError(
                f"{file} of {listing.repository} has SHA-256 {of_hub} on the hub, {HASHES_FILE} says {said}: "
                "one of both was changed after the other, ask the publisher"
            )
        yield FilePin(file=file, bytes=size, sha256=said)


def _base_files(base: HubListing) -> Iterator[FilePin]:
    for file, (size, sha256) in sorted(base.files.items()):
        if "/" in file or not file.endswith((".json", ".safetensors")):
            continue
        if sha256 is not None and size is not None:
            yield FilePin(file=file, bytes=size, sha256=sha256)
            continue
        content = small_file(base, file, MAX_SMALL_BYTES)
        yield FilePin(file=file, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def _text(preset: CheckpointPreset) -> str:
    """The preset's file."""
    lines = [f"description = {toml_value(preset.description)}", f"license = {toml_value(preset.license)}"]
    for table, part in (("checkpoint", preset.checkpoint), ("base", preset.base)):
        lines += ["", f"[{table}]"]
        lines += [f"repository = {toml_value(part.repository)}", f"revision = {toml_value(part.revision)}"]
        for pin in part.files:
            lines += ["", f"[[{table}.files]]", f"file = {toml_value(pin.file)}"]
            lines += [f"bytes = {toml_value(pin.bytes)}", f"sha256 = {toml_value(pin.sha256)}"]
    return "\n".join(lines) + "\n"
