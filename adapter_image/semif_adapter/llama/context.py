"""The memory of token sequences and the forward pass; everything else speaks tokens and numpy."""

import ctypes
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semif_adapter.contract.errors import AbandonedError, EngineError, StartupError
from semif_adapter.llama.functions import Batch
from semif_adapter.llama.model import Model, Tokens

Rows = npt.NDArray[np.float32]

BATCH_TOKENS = 256
"""Tokens of one forward pass: the grid that longer segments are cut on. Half of it costs a small model 7 %;
twice of it gains 2 % at most, and takes twice the memory (docs/performance.md)."""
LEAST_JOINED, SHORT_TOKENS = 32, 64
"""A rest of so many, and fewer than that, goes through the model with the pass before it: alone it costs more
for each token. Not a shorter one, which would make that pass a tile longer (docs/adr/0017-tiles.md). So a
context's passes, which llama.cpp must not cut again, may be SHORT_TOKENS longer."""
SLOWEST_MEMORY = 0.99
"""What the slowest pass so far counts after each further one: hundreds of passes later it is forgotten."""
STREAM_ALIGNMENT = 256
"""llama.cpp rounds a stream's cells up to this many."""

_IS_NOT_EMPTY = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p)
"""Asked by llama.cpp's CPU backend after each node of the graph whether to stop (`ggml_abort_callback`, which
takes a pointer and returns a bool). The C library's strlen answers for a buffer of at most one character; a
Python function would wait for the interpreter's lock a thousand times in each forward pass."""
_STATUS_ABORTED = 2  # of llama_decode


class Pass(NamedTuple):
    """What one sequence puts into a forward pass: `tokens` at `position`, at most a batch of them."""

    sequence: int
    position: int
    tokens: Tokens
    wanted: int = 0
    """After how many of the last tokens the logits are read."""
    marks: tuple[int, ...] = ()
    """After which tokens, by their places in `tokens`, the output of a decision head is read instead."""
    padding: int = 0
    """So many tokens that mean nothing are computed behind these, and forgotten again."""


class Context:
    """The memory of several token sequences and the forward pass. One thread only.

    One stream a sequence (`kv_unified` off) keeps a sequence's logits free of what the other streams hold.
    Where the sequences share all cells instead, one can be a fork of another at no cost.
    """

    def __init__(
        self,
        model: Model,
        *,
        streams: int,
        context_tokens: int,
        threads: int,
        sequences: int | None = None,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        """A context of `streams` sequences of up to `context_tokens` tokens each.

        With `sequences` so many share the cells of all streams. Raises StartupError where the memory cannot
        be had or the values read back are not those written.
        """
        library, layout = model.library, model.library.context_layout
        per_stream = -(-context_tokens // STREAM_ALIGNMENT) * STREAM_ALIGNMENT
        self.cells = per_stream * streams
        """Tokens that all sequences hold together."""
        self.stream_cells = per_stream
        """Tokens that a stream holds at most."""
        params = library.llama_context_default_params()
        params.write(layout.n_ctx, "<I", self.cells)
        largest = min(batch_tokens + SHORT_TOKENS, self.cells)
        params.write(layout.n_batch, "<I", largest)
        params.write(layout.n_ubatch, "<I", largest)
        params.write(layout.n_seq_max, "<I", sequences or streams)
        params.write(layout.swa_full, "<?", True)  # a cut tail must leave the whole window behind it
        params.write(layout.kv_unified, "<?", sequences is not None)
        library.errors.clear()
        self._library, self._vocab_size, self._head_width = library, model.vocab_size, model.head_width
        self._context = library.llama_init_from_model(model.handle, params)
        if not self._context:
            raise StartupError(
                f"llama.cpp cannot make a context of {streams} streams of {per_stream} tokens: "
                f"{library.reason()}; lower SEMIF_CONTEXT_TOKENS or SEMIF_STREAMS"
            )
        self._prove(
            {
                "n_ctx": self.cells,
                "n_ctx_seq": per_stream if sequences is None else self.cells,
                "n_seq_max": sequences or streams,
                "n_batch": largest,
                "n_ubatch": largest,
            }
        )
        library.llama_set_n_threads(self._context, threads, threads)
        self._stop = ctypes.create_string_buffer(2)
        """Empty while llama.cpp may compute."""
        library.llama_set_abort_callback(self._context, _IS_NOT_EMPTY, ctypes.addressof(self._stop))
        self.moved_at = monotonic()
        """When the last forward pass ended."""
        self.slowest_seconds = 0.0
        """Of the slowest forward pass lately: deep in a long prompt one takes several times the first's."""
        self._memory = library.llama_get_memory(self._context)
        self.batch_tokens = min(batch_tokens, self.cells)
        """Of a pass, but for a short rest."""
        self.most_tokens = largest
        """Of the largest pass."""
        self._sequence_ids = np.arange(sequences or streams, dtype=np.int32)
        self._ones = np.ones(self.most_tokens, np.int32)

    def _prove(self, expected: dict[str, int]) -> None:
        actual = {name: getattr(self._library, f"llama_{name}")(self._context) for name in expected}
        if actual != expected:
            self.close()
            raise StartupError(
                f"llama.cpp build {self._library.build} is not supported: a context was asked for with "
                f"{expected} and came with {actual}; use another build of the library (SEMIF_LIBRARY_DIR)"
            )

    def close(self) -> None:
        """Free the context's memory."""
        if self._context:
            self._library.llama_free(self._context)
            self._context = None

    def stop(self) -> None:
        """Make forward passes raise AbandonedError until `resume`; safe from any thread.

        One that runs on the CPU ends after the node of the graph at work, one on a GPU at its end.
        """
        self._stop.value = b"!"

    def resume(self) -> None:
        """Let forward passes run again."""
        self._stop.value = b""

    def reset(self) -> None:
        """Forget every stream and overwrite what the memory held."""
        if self._memory:  # an encoder has none
            self._library.llama_memory_clear(self._memory, True)

    def run(self, passes: Sequence[Pass]) -> list[Rows]:
        """One forward pass over all of `passes`, a batch of tokens at most, their padding among them.

        For each the logits after its last `wanted` tokens: float32 of shape (wanted, vocabulary); or, for all
        alike, the head's output after its `marks`: (marks, the head's width). They are the caller's to keep.
        Raises EngineError where llama.cpp fails, AbandonedError after `stop`; the sequences
        then hold an unknown part of their tokens and must be cut back, cleared or restored.
        """
        if self._stop.value:
            raise AbandonedError("the computation was abandoned")
        lengths = [len(part.tokens) + part.padding for part in passes]
        count = sum(lengths)
        tokens = np.concatenate(
            [np.resize(part.tokens, length) for part, length in zip(passes, lengths, strict=True)],
            dtype=np.int32,
        )
        positions = np.concatenate(
            [
                np.arange(part.position, part.position + length, dtype=np.int32)
                for part, length in zip(passes, lengths, strict=True)
            ]
        )
        first_id, width = self._sequence_ids.ctypes.data, self._sequence_ids.itemsize
        sequences = np.repeat(
            np.array([first_id + part.sequence * width for part in passes], np.uint64), lengths
        )
        outputs = np.zeros(count, np.int8)
        starts = np.cumsum([0, *lengths[:-1]])
        for start, part in zip(starts, passes, strict=True):
            end = start + len(part.tokens)
            outputs[end - part.wanted : end] = 1
        # llama.cpp then computes the output of every token, so that what only fills the memory goes without.
        reads_head = any(part.marks for part in passes)
        self._library.llama_set_embeddings(self._context, reads_head)
        batch = Batch(
            count,
            tokens.ctypes.data,
            None,
            positions.ctypes.data,
            self._ones.ctypes.data,
            sequences.ctypes.data,
            outputs.ctypes.data,
        )
        began = monotonic()
        status = self._library.llama_decode(self._context, batch)
        self.moved_at = monotonic()
        self.slowest_seconds = max(self.moved_at - began, SLOWEST_MEMORY * self.slowest_seconds)
        if status == _STATUS_ABORTED:
            raise AbandonedError("the computation was abandoned")
        if status != 0:
            raise EngineError(f"llama.cpp could not run a batch of {count} tokens (status {status})")
        rows = []
        for start, part in zip(starts, passes, strict=True):
            length = len(part.tokens)
            places = part.marks if reads_head else range(length - part.wanted, length)
            rows.append(self._rows([int(start) + place for place in places], reads_head=reads_head))
            if part.padding and not self.cut(part.sequence, part.position + length):
                raise EngineError("llama.cpp could not cut the padding of a pass")
        return rows

    def _rows(self, indices: Sequence[int], *, reads_head: bool) -> Rows:
        """A copy of what stands after the tokens at `indices` of the last batch."""
        width = self._head_width if reads_head else self._vocab_size
        read = self._library.llama_get_embeddings_ith if reads_head else self._library.llama_get_logits_ith
        rows = np.empty((len(indices), width), np.float32)
        for row, index in enumerate(indices):
            address = read(self._context, index)
            if not address:
                raise EngineError(f"llama.cpp gave no output for token {index} of its last batch")
            rows[row] = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (width,))
        return rows

    def cut(self, stream: int, position: int) -> bool:
        """Forget `stream` from `position` on; False (and nothing changed) where the model cannot do that."""
        return bool(self._library.llama_memory_seq_rm(self._memory, stream, position, -1))

    def fork(self, source: int, target: int) -> None:
        """Let `target`, which is empty, hold what `source` holds. Only where sequences share all cells."""
        self._library.llama_memory_seq_cp(self._memory, source, target, -1, -1)

    def state_bytes(self, stream: int) -> int:
        """How many bytes `save` would return."""
        return int(self._library.llama_state_seq_get_size(self._context, stream))

    def save(self, stream: int) -> npt.NDArray[np.uint8]:
        """Everything the context holds for `stream`, as bytes that `restore` takes."""
        size = self.state_bytes(stream)
        state = np.empty(size, np.uint8)
        if self._library.llama_state_seq_get_data(self._context, state.ctypes.data, size, stream) != size:
            raise EngineError(f"llama.cpp could not save the state of a sequence ({size} bytes)")
        return state

    def restore(self, stream: int, state: npt.NDArray[np.uint8]) -> None:
        """Make `stream` hold what `save` returned, and nothing else."""
        if not self.cut(stream, 0):
            raise EngineError("llama.cpp could not clear a sequence")
        if self._library.llama_state_seq_set_data(
            self._context, state.ctypes.data, len(state), stream
        ) != len(state):
            raise EngineError(f"llama.cpp could not restore the state of a sequence ({len(state)} bytes)")


ROWS_AT_ONCE = 64
"""Most rows of logits asked for in one forward pass. llama.cpp keeps room for the most it ever gave, and each
is as long as the vocabulary: a text of some thousand tokens would take gigabytes for good."""
