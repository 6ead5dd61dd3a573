"""The one error of wrong input: what a person gave cannot be run, said in lines a person can act on."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 60


class InputError(ValueError):
    """Wrong input, one line a problem: file, place in it, what was given, what was expected.

    `problems` holds the lines. The command prints them on standard error and exits with 2; it never lets this
    become a traceback.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


def escaped(text: str) -> str:
    """Text from outside with nothing in it that could break the line or drive the terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def quoted(text: str) -> str:
    """Text from outside in double quotes: escaped, and cut to its first 60 characters."""
    short = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return '"' + escaped(short.replace("\\", "\\\\").replace('"', '\\"')) + '"'
