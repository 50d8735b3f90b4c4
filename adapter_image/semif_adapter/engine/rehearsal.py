"""A model's first load, in a process of its own: what ends that process is a line here and a refusal.

llama.cpp aborts, or throws through its C functions, where a file breaks what it takes for granted: at the
load, or later at the first text that holds a character its vocabulary lacks, which any caller can send.
`python -m semif_adapter.engine.rehearsal LIBRARY_DIR GGUF GPU_LAYERS` says on its output what it does next.
"""

import logging
import os
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from semif_adapter.archive.decision_head import IN_LIBRARY, too_old
from semif_adapter.archive.servable import reasons_against
from semif_adapter.contract.errors import EngineError, StartupError
from semif_adapter.llama.gguf_strings import gguf_string
from semif_adapter.llama.libllama import Library, open_library
from semif_adapter.llama.model import Model

_REFUSED = 3
"""The exit status with which the process says that its last line is the reason."""
_NOISE = "terminate called"
"""How the C++ run time begins, before it says why."""


def rehearse(library_dir: Path, gguf: Path, gpu_layers: int) -> None:
    """Load `gguf` and tokenise texts of every kind in a child process; the same file once a process.

    Raises StartupError with the reason where that fails, or ends the child.
    """
    state = gguf.stat()
    _rehearse(library_dir, gguf, gpu_layers, (state.st_ino, state.st_size, state.st_mtime_ns))


@lru_cache(64)
def _rehearse(library_dir: Path, gguf: Path, gpu_layers: int, _state: tuple[int, int, int]) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__, str(library_dir), str(gguf), str(gpu_layers)],
        env=os.environ | {"GGML_NO_BACKTRACE": "1"},  # its debugger would take seconds, and pages of the log
        capture_output=True,
        check=False,
    )
    lines = done.stdout.decode(errors="replace").splitlines()
    last = lines[-1] if lines else "start"
    if done.returncode == 0:
        return
    if done.returncode == _REFUSED:
        raise StartupError(last)
    reason = _reason(done.stderr.decode(errors="replace"))
    raise StartupError(
        f"llama.cpp does not survive {gguf.name}: told to {last} it ended with "
        f"{_ending(done.returncode)}{reason}; "
        "convert the model again, or use another build of the library (SEMIF_LIBRARY_DIR)"
    )


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def _reason(stderr: str) -> str:
    """What the library said as it ended, as the end of a sentence."""
    lines = [line.strip() for line in stderr.splitlines()]
    said = next((line for line in lines if line and not line.startswith(_NOISE)), "")
    return f" ({said[:200]})" if said else ""


def texts() -> Iterator[tuple[str, str]]:
    """Names and texts that together hold every byte that UTF-8 knows, and what is rare in it."""
    yield "tokenise the characters from U+0000 to U+07FF", "".join(map(chr, range(0x800)))
    for lead in range(0xE0, 0xF5):
        text = "".join(map(chr, _with_lead(lead)))
        yield f"tokenise characters whose UTF-8 begins with 0x{lead:X}", text
    yield "tokenise spaces and line ends", " " * 300 + "\t\r\n\u2028\u3000" + "\n" * 300
    yield "tokenise a long word", "x" * 3_000
    yield (
        "tokenise marks that combine",
        unicodedata.normalize("NFD", "Ἕλληνες, tiếng Việt, 한국어, e\u0301") * 3,
    )
    yield "tokenise an emoji of several", "\U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f3fd\u200d❤️"
    yield "tokenise nothing", ""


def _with_lead(lead: int) -> Iterator[int]:
    """Some code points whose UTF-8 begins with the byte `lead`, surrogates left out."""
    low, high = ((lead & 0x0F) << 12, 12) if lead < 0xF0 else ((lead & 0x07) << 18, 18)
    for code in range(max(low, 0x800 if lead < 0xF0 else 0x10000), min(low + (1 << high), 0x110000), 61):
        if not 0xD800 <= code < 0xE000:
            yield code


def main() -> int:
    """What the child does; returns its exit status."""
    logging.disable()  # the load that follows in earnest tells the same
    library_dir, gguf, gpu_layers = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    try:
        library = open_library(library_dir)
        _say(f"load {gguf.name}")
        with closing(_load(library, gguf, gpu_layers)) as model:
            if reasons := list(reasons_against(model.metadata)):
                raise StartupError(f"{gguf.name} cannot answer decisions: {'; '.join(reasons)}")
            for name, text in texts():
                _say(name)
                model.tokenize(text, parse_special=False)
            _say("tokenise its own chat template")
            model.tokenize(model.chat_template or "", parse_special=True)
    except (EngineError, StartupError) as error:
        _say(str(error))
        return _REFUSED
    return 0


def _load(library: Library, gguf: Path, gpu_layers: int) -> Model:
    """The model; a library that refuses the tensors of a head it does not know is told to be too old."""
    try:
        return Model(library, gguf, gpu_layers)
    except StartupError as error:
        architecture = gguf_string(library, gguf, "general.architecture")
        kind = gguf_string(library, gguf, f"{architecture}.decision.type")
        if kind in IN_LIBRARY:
            raise StartupError(f"{error}; maybe {too_old(kind, library.build)}") from None
        raise


def _say(line: str) -> None:
    # A file's name may be no Unicode.
    sys.stdout.buffer.write(line.replace("\n", " ").encode(errors="backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
