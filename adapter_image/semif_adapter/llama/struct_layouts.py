"""Where the fields of llama.cpp's parameter structs lie in the build at hand.

There is no header in the container and the structs change from build to build (fields were inserted, moved,
appended). What stays is the default values, so a field is found by the pattern that the defaults make around
it, and the context proves afterwards that each value arrived where it was meant to.
"""

import ctypes
import struct
from dataclasses import dataclass

from semif_adapter.contract.errors import StartupError

BLOB_BYTES = 512
"""More than any build's struct: passed by value, the callee reads and writes its own size only."""
_BOOLEANS = (96, 200)
"""Where the booleans of `llama_context_params` may lie; at 128 and 136 in the builds tried."""


class ParamsBlob(ctypes.Structure):
    """A parameter struct of unknown layout, as raw bytes."""

    _fields_ = (("raw", ctypes.c_uint8 * BLOB_BYTES),)

    def write(self, offset: int, form: str, value: int) -> None:
        """Store `value` in the `struct` format `form` at `offset` bytes."""
        struct.pack_into(form, self.raw, offset, value)


@dataclass(frozen=True)
class ContextLayout:
    """Byte offsets inside `llama_context_params`."""

    n_ctx: int
    n_batch: int
    n_ubatch: int
    n_seq_max: int
    swa_full: int
    kv_unified: int

    @classmethod
    def find(cls, defaults: bytes, build: str) -> "ContextLayout":
        """The layout that explains the default values in `defaults`.

        The head is `n_ctx, n_batch, n_ubatch, n_seq_max` = 512, 2048, 512, 1 as 32-bit numbers; further on
        come six booleans `embeddings, offload_kqv, no_perf, op_offload, swa_full, kv_unified` = 0 1 1 1 1 0.
        Raises StartupError where the pattern is missing.
        """
        if struct.unpack_from("<4I", defaults) != (512, 2048, 512, 1):
            raise _unsupported(
                build, "llama_context_params does not begin with n_ctx, n_batch, n_ubatch, n_seq_max"
            )
        # The first one counts: behind the struct the blob holds what the stack happened to hold.
        run = defaults.find(bytes((0, 1, 1, 1, 1, 0)), *_BOOLEANS)
        if run < 0:
            raise _unsupported(build, "the booleans of llama_context_params are not what they were")
        return cls(n_ctx=0, n_batch=4, n_ubatch=8, n_seq_max=12, swa_full=run + 4, kv_unified=run + 5)


@dataclass(frozen=True)
class ModelLayout:
    """Byte offsets inside `llama_model_params`."""

    devices: int
    n_gpu_layers: int

    @classmethod
    def find(cls, defaults: bytes, build: str) -> "ModelLayout":
        """The layout that explains the default values in `defaults`.

        Two null pointers (`devices`, `tensor_buft_overrides`) come before `n_gpu_layers` (-1, in older builds
        999 or 0) and `split_mode` (1, by layer). Raises StartupError where they do not.
        """
        pointers, n_gpu_layers, split_mode = struct.unpack_from("<16sii", defaults)
        if any(pointers) or n_gpu_layers not in (-1, 0, 999) or split_mode != 1:
            raise _unsupported(build, "n_gpu_layers is not where llama_model_params had it")
        return cls(devices=0, n_gpu_layers=16)


def _unsupported(build: str, reason: str) -> StartupError:
    return StartupError(
        f"llama.cpp build {build} is not supported: {reason}; "
        "use another build of the library (SEMIF_LIBRARY_DIR)"
    )
