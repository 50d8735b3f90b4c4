"""Refuses texts that have too many tokens however they are tokenised, before they are."""

from itertools import islice

from semif_adapter.contract.errors import PromptTooLongError
from semif_adapter.llama.model import Model
from semif_adapter.prompt.marks import Marks


class TextLength:
    """The bound of one model's prompts. Safe to use from any thread."""

    def __init__(self, model: Model, most_tokens: int) -> None:
        """`most_tokens` is how many a prompt may have."""
        self._longest = model.longest_token_bytes
        self._user_defined = Marks(model.user_defined_texts)
        self._most_tokens = most_tokens
        self._most_bytes = most_tokens * self._longest

    def refuse_endless(self, text: str, path: str) -> None:
        """Raise PromptTooLongError for a text that has too many tokens, without tokenising it.

        llama.cpp takes seconds and a hundred megabytes for a megabyte of one word, and cuts a text at
        user-defined tokens in a time that grows with the square of their number.
        """
        if len(text) <= self._most_tokens:
            return
        size = len(text.encode(errors="surrogatepass"))
        least = -(-size // self._longest)
        if size <= self._most_bytes:
            # Half: where such texts overlap, llama.cpp may take one for two that are found here.
            enough = 2 * (self._most_tokens + 1)
            least = sum(1 for _ in islice(self._user_defined.found(text), enough)) // 2
        if least > self._most_tokens:
            raise PromptTooLongError(
                f"a text has at least {least} tokens, allowed are {self._most_tokens} for the whole prompt; "
                "shorten the state, the question or the options",
                path=path,
            )
