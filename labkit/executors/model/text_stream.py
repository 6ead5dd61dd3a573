"""Tokens to text as they come, never half a character.

A token of a byte-level vocabulary may end in the middle of a UTF-8 sequence (an emoji takes four bytes). What is not
decided yet is kept until the next token decides it, so the pieces joined are the text of the whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNDECIDED = "\N{REPLACEMENT CHARACTER}"  # what decoders show for bytes that are no character (yet)
BYTE_TOKEN = re.compile("<0x[0-9A-F]{2}>")


class TextStream:
    """The text of one request under way. Special tokens have no text.

    Each step decodes a short window: from the token at which the last piece began, since some decoders treat the first
    token of a text in another way.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder().items()
        self._silent = frozenset(number for number, token in added if token.special)
        self._window: list[int] = []
        self._settled = 0  # tokens of the window whose text was given out in full
        self._given = 0  # characters of the window's text that were given out

    def push(self, token: int) -> str:
        """Take the next token and return the text that it completes, perhaps none."""
        if token in self._silent:
            return ""  # decoders skip it: a run of byte tokens goes on behind it
        self._window.append(token)
        text = self._tokenizer.decode(self._window)
        if BYTE_TOKEN.fullmatch(self._tokenizer.id_to_token(token) or ""):
            return ""  # a run of byte tokens is decoded as one, right or not: its end has to be seen
        whole = text.rstrip(UNDECIDED)
        piece = whole[self._given :]
        self._given = max(self._given, len(whole))
        if whole == text and piece:
            self._window = self._window[self._settled :]
            self._settled = len(self._window)
            self._given = len(self._tokenizer.decode(self._window))
        return piece

    def flush(self) -> str:
        """Return what is still kept, at the end of the answer."""
        rest = self._tokenizer.decode(self._window)[self._given :]
        self._window, self._settled, self._given = [], 0, 0
        return rest
