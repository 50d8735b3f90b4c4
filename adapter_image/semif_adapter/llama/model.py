"""A model's weights and vocabulary; everything else speaks tokens."""

import ctypes
import os
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semif_adapter.contract.errors import EngineError, StartupError
from semif_adapter.llama.libllama import Library
from semif_adapter.llama.marks import Marks

Tokens = npt.NDArray[np.int32]

_NO_DEVICES = ctypes.c_void_p(None)
"""A list of devices that ends at once."""

_ATTR_UNKNOWN, _ATTR_CONTROL, _ATTR_USER_DEFINED = 1 << 0, 1 << 3, 1 << 4  # enum llama_token_attr
_ATTR_STRIPS = 1 << 7 | 1 << 8
"""Marks that take the spaces before or behind them away."""

MARKS_AT_ONCE = 512
"""llama.cpp cuts a text at marks in a time that grows with their number's square: 7 minutes for 380,000."""
USUAL_TOKEN = 64
"""Bytes that almost every token fits into."""


class Model:
    """The weights and the vocabulary. Tokenising is safe from any thread."""

    def __init__(self, library: Library, path: Path, gpu_layers: int) -> None:
        """Load the GGUF at `path`, `gpu_layers` of it on GPUs (-1: all).

        Raises StartupError where the file cannot be loaded or no GPU took the layers asked for.
        """
        if gpu_layers and not any(device.is_gpu for device in library.devices):
            raise StartupError(
                f"SEMIF_GPU_LAYERS={gpu_layers} asks for a GPU, but llama.cpp sees only "
                f"{', '.join(map(str, library.devices))} ({library.why_no_gpu()}); choose a GPU image and an "
                "instance and host image with its driver, or set it to 0"
            )
        params = library.llama_model_default_params()
        params.write(library.model_layout.n_gpu_layers, "<i", gpu_layers if gpu_layers >= 0 else 999)
        if not gpu_layers:
            # Without this llama.cpp lends large products to a GPU even with all layers on the CPU.
            params.write(library.model_layout.devices, "<Q", ctypes.addressof(_NO_DEVICES))
        self.library = library
        with library.loading():
            self.handle = library.llama_model_load_from_file(os.fsencode(path), params)
        """llama.cpp's own, which contexts are made with; None once closed."""
        if not self.handle:
            raise StartupError(
                f"llama.cpp cannot load {path.name}: {library.reason()}; check the file or its build"
            )
        self.gpu_layers = library.offloaded_layers
        if gpu_layers and not self.gpu_layers:
            self.close()
            raise StartupError(
                f"SEMIF_GPU_LAYERS={gpu_layers} was asked for, but no GPU took a layer of {path.name}"
            )
        self._vocab = library.llama_model_get_vocab(self.handle)
        self.vocab_size: int = library.llama_vocab_n_tokens(self._vocab)
        self.bos: int = self._special_token("bos")
        self.eos: int = self._special_token("eos")
        self.mask: int = self._special_token("mask")
        self.separator: int = self._special_token("seperator")  # as GGUF spells it
        self.wants_bos: bool = library.llama_vocab_get_add_bos(self._vocab)
        self.head_width: int = library.llama_model_n_embd_out(self.handle)
        """Numbers that a decision head gives for a token; without a head, the model's own width."""
        self.trained_context: int = library.llama_model_n_ctx_train(self.handle)
        self.has_sliding_window: bool = library.llama_model_n_swa(self.handle) > 0
        """Whether a layer sees the latest tokens only."""
        self.has_recurrent_layers: bool = library.llama_model_is_hybrid(
            self.handle
        ) or library.llama_model_is_recurrent(self.handle)

    def _special_token(self, name: str) -> int:
        """The token that the metadata names so, -1 for none.

        Where it names none llama.cpp has a default of its own: in a vocabulary of GPT-2's kind a comma.
        """
        named = self.metadata(f"tokenizer.ggml.{name}_token_id") or ""
        return int(named) if named.isdecimal() and int(named) < self.vocab_size else -1

    def close(self) -> None:
        """Free the weights; the model's contexts must be closed before."""
        if self.handle:
            self.library.llama_model_free(self.handle)
            self.handle = None

    @property
    def chat_template(self) -> str | None:
        """The GGUF's own chat template (Jinja2), if it has one. Raises StartupError where it is no UTF-8."""
        template = self.library.llama_model_chat_template(self.handle, None)
        try:
            return template.decode() if template else None
        except UnicodeDecodeError as error:
            raise StartupError(
                f"the model's chat template is not UTF-8 (byte {error.start}); "
                'set template = "plain" in the [prompt] of its preset'
            ) from None

    def named_template(self, name: str) -> str | None:
        """The GGUF's template of this name. Raises StartupError where it is no UTF-8."""
        template = self.library.llama_model_chat_template(self.handle, name.encode())
        try:
            return template.decode() if template else None
        except UnicodeDecodeError as error:
            raise StartupError(
                f"the model's template {name!r} is not UTF-8 (byte {error.start}); convert the model again"
            ) from None

    @property
    def description(self) -> str:
        """Architecture, size and file type as llama.cpp names them, like "llama 135M Q4_1"."""
        buffer = ctypes.create_string_buffer(256)
        self.library.llama_model_desc(self.handle, buffer, len(buffer))
        return buffer.value.decode(errors="replace")

    @property
    def quantization(self) -> str:
        """The file type, like "Q4_K - Medium"."""
        return " ".join(self.description.split()[2:]) or "unknown"

    def metadata(self, key: str) -> str | None:
        """The GGUF's metadata value under `key`, as text."""
        buffer = ctypes.create_string_buffer(1024)
        length = self.library.llama_model_meta_val_str(self.handle, key.encode(), buffer, len(buffer))
        return buffer.value.decode(errors="replace") if length >= 0 else None

    def tokenize(self, text: str, *, parse_special: bool) -> Tokens:
        """The tokens of `text`, no BOS or EOS added. Only `parse_special` makes control tokens."""
        if len(text) <= MARKS_AT_ONCE:
            return self._tokenize(text, parse_special)
        cuts = [0, *self._marks[parse_special].cuts(text, MARKS_AT_ONCE), len(text)]
        parts = [self._tokenize(text[begin:end], parse_special) for begin, end in pairwise(cuts)]
        return np.concatenate(parts)

    def _tokenize(self, text: str, parse_special: bool) -> Tokens:
        data = text.encode()
        tokens = np.empty(len(data) + 8, np.int32)
        count = self.library.llama_tokenize(
            self._vocab, data, len(data), tokens.ctypes.data, len(tokens), False, parse_special
        )
        if count < 0:
            raise EngineError(f"llama.cpp could not tokenise a text of {len(data)} bytes")
        return tokens[:count].copy()

    def tokenize_inside(self, text: str, *, parse_special: bool) -> Tokens:
        """As `tokenize`, for a text that stands behind other text.

        SentencePiece models with a space prefix put a space before whatever is tokenised, as before the first
        word of a text.
        """
        if self._puts_space_first:
            tokens = self.tokenize(f"\n{text}", parse_special=parse_special)
            if np.array_equal(tokens[: len(self._line_end)], self._line_end):
                return tokens[len(self._line_end) :]
        return self.tokenize(text, parse_special=parse_special)

    @cached_property
    def _line_end(self) -> Tokens:
        return self.tokenize("\n", parse_special=False)

    @cached_property
    def _puts_space_first(self) -> bool:
        """Whether a word alone has other tokens than the same word behind a line's end."""
        alone, behind = (self.tokenize(text, parse_special=False) for text in ("a", "\na"))
        ends = np.array_equal(behind[: len(self._line_end)], self._line_end)
        return ends and not np.array_equal(behind[len(self._line_end) :], alone)

    @cached_property
    def longest_token_bytes(self) -> int:
        """Bytes of text that one token stands for at most."""
        # Byte-level vocabularies spell a byte with one or two of UTF-8, SentencePiece a space with three.
        return max(len(self.token_text(token).encode()) for token in range(self.vocab_size))

    @cached_property
    def user_defined_texts(self) -> tuple[str, ...]:
        """What llama.cpp makes one token of wherever it stands, longest first."""
        texts = {self.token_text(one) for one in range(self.vocab_size) if self.is_user_defined(one)}
        return tuple(sorted(texts - {""}, key=len, reverse=True))

    @cached_property
    def user_defined_marks(self) -> Marks:
        """The same, to be found in texts."""
        return Marks(self.user_defined_texts)

    @cached_property
    def _marks(self) -> dict[bool, Marks]:
        """What llama.cpp cuts texts at, by whether special tokens are parsed; nothing where it cuts more than
        the mark away."""
        attributes = [self._attributes(token) for token in range(self.vocab_size)]
        special = _ATTR_UNKNOWN | _ATTR_CONTROL | _ATTR_USER_DEFINED
        if any(one & special and one & _ATTR_STRIPS for one in attributes):
            return {False: Marks(()), True: Marks(())}
        texts = {self.token_text(token) for token, one in enumerate(attributes) if one & special}
        return {False: self.user_defined_marks, True: Marks(texts - {""})}

    def token_bytes(self) -> list[bytes]:
        """The text that each token stands for, in UTF-8 or a part of it; takes 0.3 s for 262,144."""
        room = ctypes.create_string_buffer(USUAL_TOKEN)
        pieces = []
        for token in range(self.vocab_size):
            size = self.library.llama_token_to_piece(self._vocab, token, room, len(room), 0, True)
            if size < 0:
                room = ctypes.create_string_buffer(-size)
                size = self.library.llama_token_to_piece(self._vocab, token, room, len(room), 0, True)
            pieces.append(room.raw[:size])
        return pieces

    def token_text(self, token: int) -> str:
        """The vocabulary's entry for `token`; empty for none (-1)."""
        if token < 0:
            return ""
        return (self.library.llama_vocab_get_text(self._vocab, token) or b"").decode(errors="replace")

    def is_control(self, token: int) -> bool:
        """Whether `token` is one that llama.cpp makes from a text only where special tokens are parsed."""
        return bool(self._attributes(token) & _ATTR_CONTROL)

    def is_user_defined(self, token: int) -> bool:
        """Whether `token` is one that llama.cpp makes from any text, special tokens parsed or not."""
        return bool(self._attributes(token) & _ATTR_USER_DEFINED)

    def _attributes(self, token: int) -> int:
        return int(self.library.llama_vocab_get_attr(self._vocab, token))
