"""Refuses texts that have too many tokens however they are tokenised, before they are."""

import re

from semif_adapter.contract.errors import PromptTooLongError
from semif_adapter.llama.model import Model


class TextLength:
    """The bound of one model's prompts. Safe to use from any thread."""

    def __init__(self, model: Model, most_tokens: int) -> None:
        """`most_tokens` is how many a prompt may have."""
        self._longest = model.longest_token_bytes
        self._user_defined = model.user_defined_texts
        self._most_tokens = most_tokens
        self._most_bytes = most_tokens * self._longest

    def refuse_endless(self, text: str, path: str) -> None:
        """Raise PromptTooLongError for a text that has too many tokens, without tokenising it.

        llama.cpp takes seconds and a hundred megabytes for a megabyte of one word, and cuts a text at
        user-defined tokens in a time that grows with the square of their number. Raises UnicodeEncodeError
        for a long text that is no Unicode.
        """
        if len(text) <= self._most_tokens:
            return
        size = len(text.encode())
        least = -(-size // self._longest)
        if size <= self._most_bytes:
            present = [one for one in self._user_defined if one in text]
            # Half: where such texts overlap, llama.cpp may take one for two that are found here.
            least = (
                sum(1 for _ in re.finditer("|".join(map(re.escape, present)), text)) // 2 if present else 0
            )
        if least > self._most_tokens:
            raise PromptTooLongError(
                f"a text has at least {least} tokens, allowed are {self._most_tokens} for the whole prompt; "
                "shorten the state, the question or the options",
                path=path,
            )
