"""The words of derivations, Chinese and English side by side: `words_of("sojourn_law", "tail", "zh")`.

Each module holds `WORDS`: derivation to step (and "title", and "conditions" where it has some) to
(Chinese, English). Terms are those of the book's glossary; a statement may hold LaTeX between dollar signs.
"""

from __future__ import annotations

from collections.abc import Mapping

from labkit.theory.words import beyond, bounds, fluids, little, queue, requests
from labkit.theory.words.rules import COMMON

LANGUAGES = ("zh", "en")
WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    **requests.WORDS,
    **little.WORDS,
    **queue.WORDS,
    **bounds.WORDS,
    **fluids.WORDS,
    **beyond.WORDS,
}


def words_of(derivation: str, key: str, language: str) -> str:
    """What a step of a derivation says (`key` its name), or its "title" or "conditions"."""
    return WORDS[derivation][key][LANGUAGES.index(language)]


def common(language: str) -> dict[str, str]:
    """The words that all derivations share: rules, folds, checks."""
    return {key: both[LANGUAGES.index(language)] for key, both in COMMON.items()}
