"""Refuses texts that have too many tokens however they are tokenised, before they are."""

import math
from itertools import islice

import numpy as np
import numpy.typing as npt

from semif_adapter.contract.errors import PromptTooLongError
from semif_adapter.llama.model import Model

_BLOCK = 65_536
"""Bytes that are looked at at once."""
_PAIRS = 1 << 16
_SPELT = "\u2581"
"""What SentencePiece's vocabularies have for a space, and take for one."""
_SAMPLE = "The quick brown fox, 1234 times:\n\n  \u00e9t\u00e9 \u6f22\u5b57 \U0001f469"


class TextLength:
    """The bound of one model's prompts. Safe to use from any thread.

    A token stands for some bytes in a row. Each of them has another of the token's beside it, if there is
    one, so the token is no longer than the longest of the vocabulary that has those two side by side. Where
    each byte of a text counts as one through the longest token that it can be in, the bytes of a token come
    to one at most, and those of a text to no more than its tokens.
    """

    def __init__(self, model: Model, most_tokens: int) -> None:
        """`most_tokens` is how many a prompt may have."""
        self._user_defined = model.user_defined_marks
        self._most_tokens = most_tokens
        self._longest, self._counts, self._is_sentencepiece = _lengths(model)

    def refuse_endless(self, text: str, path: str) -> None:
        """Raise PromptTooLongError for a text that has too many tokens, without tokenising it.

        llama.cpp takes seconds and hundreds of megabytes for a megabyte of one word, and cannot be stopped.
        """
        if len(text) <= self._most_tokens:
            return
        least = self.least_tokens(text)
        if least <= self._most_tokens:
            # Half: where such texts overlap, llama.cpp may take one for two that are found here.
            enough = 2 * (self._most_tokens + 1)
            least = sum(1 for _ in islice(self._user_defined.found(text), enough)) // 2
        if least > self._most_tokens:
            raise PromptTooLongError(
                f"a text has at least {least} tokens, allowed are {self._most_tokens} for the whole prompt; "
                "shorten the state, the question or the options",
                path=path,
            )

    def least_tokens(self, text: str) -> int:
        """A lower bound of the tokens of `text`, by its bytes; of far too many, not the best there is."""
        if self._is_sentencepiece:
            text = text.replace(_SPELT, " ")
        data = np.frombuffer(text.encode(errors="surrogatepass"), np.uint8)
        tokens = 0.0
        for begin in range(0, len(data), _BLOCK):
            # With the byte before and the one behind, where there are any.
            block = data[max(0, begin - 1) : begin + _BLOCK + 1]
            in_pair = self._longest[_pairs(block)]
            longest = np.ones(len(block), np.uint16)
            longest[:-1] = np.maximum(longest[:-1], in_pair)
            longest[1:] = np.maximum(longest[1:], in_pair)
            inner = slice(min(begin, 1), min(begin, 1) + _BLOCK)
            tokens += float(np.sum(self._counts[block[inner]] / longest[inner]))
            if tokens > self._most_tokens + 1:
                break
        return math.ceil(tokens - 1e-3)


def _lengths(model: Model) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.bool_], bool]:
    """Bytes of the longest token that has two bytes side by side, by pair; which bytes count; and whether
    spaces are spelt otherwise.

    A byte that is no token of its own does not count: llama.cpp leaves it out where no longer one has it.
    Where the vocabulary changes texts before it cuts them (WordPiece, Unigram), or spells them in another way
    than is known here, the longest token of all stands for each pair.
    """
    kind, pieces = model.metadata("tokenizer.ggml.model"), model.token_bytes()
    sample = model.tokenize(_SAMPLE, parse_special=False)
    told = b"".join(pieces[token] for token in sample.tolist())
    if kind not in ("gpt2", "llama") or not told.endswith(_SAMPLE.encode()):
        return np.full(_PAIRS, model.longest_token_bytes, np.uint16), np.ones(256, np.bool_), False
    alone = {piece for piece in pieces if len(piece) == 1}
    counts = np.array([bytes([byte]) in alone for byte in range(256)])
    lengths = np.array([len(piece) for piece in pieces])
    data = np.frombuffer(b"".join(pieces), np.uint8)
    token_of = np.repeat(np.arange(len(pieces)), lengths)
    inside = token_of[:-1] == token_of[1:]
    longest = np.zeros(_PAIRS, np.uint16)
    np.maximum.at(longest, _pairs(data)[inside], np.repeat(lengths, lengths)[:-1][inside].astype(np.uint16))
    return longest, counts, kind == "llama"


def _pairs(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    """Each two bytes side by side, as one number."""
    return np.frombuffer(np.stack([data[1:], data[:-1]], axis=1).tobytes(), "<u2")
