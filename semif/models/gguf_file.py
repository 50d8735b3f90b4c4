"""Is this file really a model that llama.cpp can serve? Says by name what it is instead, or what it lacks."""

import re
from pathlib import Path

from semif.models.gguf_header import MAGIC, GgufHeader, NotAModelError, read_header
from semif_adapter.archive.manifest import PromptSpec
from semif_adapter.archive.servable import reasons_against

ENDING = ".gguf"
"""Of a model's file; written in any case, as Windows and some publishers write it."""
SHARD = re.compile(r"-([0-9]{5})-of-([0-9]{5})\.gguf$", re.IGNORECASE)
"""The name of one file of a split model: its number, and how many there are."""


def named_gguf(name: str) -> bool:
    """Whether `name` ends as a GGUF's does."""
    return name.lower().endswith(ENDING)


def stem_of(name: str) -> str:
    """`name` without the ending of a GGUF, and without the number that one file of a split model has."""
    name = SHARD.sub("", name)
    return name[: -len(ENDING)] if named_gguf(name) else name


def files_of_split(name: str) -> int:
    """Into how many files a model is split, by the name of one of them; 1 for a whole one."""
    shard = SHARD.search(name)
    return int(shard[2]) if shard else 1


def check_gguf(path: Path, prompt: PromptSpec | None = None) -> GgufHeader:
    """Read and check the header of `path`; reads no tensor data.

    Raises NotAModelError for anything that is not a whole, servable, little-endian GGUF, or is not asked as
    its preset's `prompt` says.
    """
    other = not_a_gguf(path)
    if other:
        raise NotAModelError(f"{path.name} is no model: {other}")
    header = read_header(path)
    check_servable(path.name, header)
    if prompt is not None and (problem := prompt.problem_with(header.decision_type)):
        raise NotAModelError(f"{path.name} cannot be asked as its preset says: {problem}")
    return header


def not_a_gguf(path: Path) -> str | None:
    """What `path` looks like where its first bytes are not a GGUF's, as `it is …`; None where they are."""
    if path.name.startswith("._"):
        return "it is a side-car file that macOS leaves beside the real one (name begins with ._)"
    with path.open("rb") as file:
        head = file.read(512)
    if head.startswith(MAGIC):
        return None
    return f"it is {_guess(head)}"


def _guess(head: bytes) -> str:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    known = (
        (not head, "empty"),
        (head[:4] in (b"\x00\x05\x16\x07", b"\x00\x05\x16\x00"), "a side-car file of macOS (AppleDouble)"),
        (text.startswith((b"<!do", b"<htm", b"<head", b"<?xml")), "a web page, not the file behind it"),
        (text.startswith(b"version https://git-lfs"), "a Git LFS pointer; fetch the file it points to"),
        (
            head[:4] in (b"ggml", b"ggjt", b"tjgg", b"lmgg", b"fmgg", b"ggmf"),
            "a file of the format before GGUF",
        ),
        (head[:2] == b"\x1f\x8b", "a gzip archive"),
        (head[:4] == b"PK\x03\x04", "a zip archive"),
        (head[8:9] == b"{", "a safetensors file"),
    )
    for matches, what in known:
        if matches:
            return what
    if all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in head):
        start = head[:60].decode("ascii").split("\n")[0]
        return f"text, which begins with {start!r}: an error message saved under the model's name?"
    return f"something that begins with the bytes {head[:4].hex(' ')}, and a GGUF begins with 47 47 55 46"


def check_servable(name: str, header: GgufHeader) -> None:
    """Raise NotAModelError where the file `name` with this header is nothing that can be served."""
    architecture, kind = header.values["general.architecture"], header.values.get("general.type", "model")
    if architecture == "clip" or kind in ("mmproj", "projector"):
        raise NotAModelError(f"{name} is a projector for images or sound, not a language model")
    if kind != "model":
        raise NotAModelError(f"{name} is of general.type {str(kind)!r}, allowed is 'model'")
    shard = SHARD.search(name)
    count = header.values.get("split.count", 1)
    if files_of_split(name) != 1 or count not in (0, 1):
        which = f"shard {shard[1]} of {shard[2]}" if shard else f"one of {count} shards"
        raise NotAModelError(
            f"{name} is {which}; split models are not packed, merge them with llama-gguf-split"
        )
    if reasons := [*reasons_against(header.text), *_vocabulary_problems(header)]:
        raise NotAModelError(f"{name} cannot answer decisions: {'; '.join(reasons)}")


def _vocabulary_problems(header: GgufHeader) -> list[str]:
    """What is wrong with the list of tokens: llama.cpp aborts where one stands in it twice."""
    if not header.tokens:
        return ["it has no vocabulary (tokenizer.ggml.tokens)"]
    seen: dict[bytes, int] = {}
    for index, token in enumerate(header.tokens):
        if token and seen.setdefault(token, index) != index:
            text = token.decode(errors="replace")
            return [f"its vocabulary lists {text!r} twice, as tokens {seen[token]} and {index}"]
    return []
