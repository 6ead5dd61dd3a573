"""Where predictions are kept: one small file each, in the hidden folder `.labkit` beside the notebook.

One file each, because then two kernels that write at once can't lose each other's: there is nothing to read,
change and write back. A file is written under another name and then put in place, so that a reader sees the
old one or the new one and never half of one.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from labkit.show.predict.numbers import read_number
from labkit.show.text import t

FOLDER = Path(".labkit") / "predictions"
SCHEMA = "labkit.prediction/1"
NAME = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
LONGEST_NAME, MOST_BYTES, MOST_HANDS = 60, 65_536, 9_999
TRIES, PAUSE = 5, 0.05  # a virus scanner or another reader may hold a file for a moment on Windows


class Unreadable(ValueError):
    """A kept file that no prediction cell could have written; says why in a few words."""


@dataclass(frozen=True)
class Kept:
    """What is kept of a prediction: the number as it was written, or that it was skipped; hands a choice."""

    guess: str | None = None
    skipped: bool = False
    hands: tuple[int, ...] = ()

    @property
    def number(self) -> Fraction | None:
        """The guess as a number."""
        return None if self.guess is None else read_number(self.guess)

    @property
    def answered(self) -> bool:
        """A number was given, or it was skipped: from now on the truth may be seen."""
        return self.skipped or self.guess is not None


def checked_name(what: str, name: str) -> str:
    """A page's or prediction's name that is safe as part of a file's name on every system.

    Raises ValueError where it is not.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise ValueError(
            f"{what}: given {name!r}, expected small letters, digits and single . _ - between them, "
            f"at most {LONGEST_NAME}"
        )
    return name


def place(page: str, id_: str, folder: Path | None = None) -> Path:
    """The file of a prediction; `folder` stands for the notebook's, where the kernel runs."""
    name = f"{checked_name('page', page)}--{checked_name('id', id_)}.json"
    return (folder or Path.cwd()) / FOLDER / name


def load(path: Path) -> Kept | None:
    """What is kept there; None where nothing is.

    Raises:
        Unreadable: there is something, but nothing that a prediction cell wrote.
    """
    try:
        with open(path, "rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", None) or str(error)) from None
    if len(raw) > MOST_BYTES:
        raise Unreadable(t("predict.too_long"))
    try:
        found = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Unreadable(t("predict.no_json")) from None
    return _kept(found)


def _kept(found: object) -> Kept:
    if not isinstance(found, Mapping) or found.get("schema") != SCHEMA:
        raise Unreadable(t("predict.no_prediction"))
    guess, skipped, hands = found.get("guess"), found.get("skipped"), found.get("hands")
    number = read_number(guess) if isinstance(guess, str) else None
    if (guess is not None and number is None) or not isinstance(skipped, bool) or not _are_hands(hands):
        raise Unreadable(t("predict.no_prediction"))
    return Kept(guess, skipped, tuple(hands))  # type: ignore[arg-type]


def _are_hands(hands: object) -> bool:
    return (
        isinstance(hands, Sequence)
        and not isinstance(hands, str)
        and len(hands) <= 9
        and all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= MOST_HANDS for n in hands)
    )


def save(path: Path, page: str, id_: str, kept: Kept) -> None:
    """Put `kept` there in one step. The folder tells git to leave it alone.

    Raises:
        OSError: it can't be written; what was there before is still there.
    """
    document = {
        "schema": SCHEMA,
        "page": page,
        "id": id_,
        "guess": kept.guess,
        "skipped": kept.skipped,
        "hands": list(kept.hands),
    }
    text = json.dumps(document, ensure_ascii=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    ignore = path.parent.parent / ".gitignore"
    if not ignore.exists():
        _put(ignore, "*\n")
    _put(path, text)


def _put(path: Path, text: str) -> None:
    own = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        own.write_text(text, encoding="utf-8", newline="\n")
        for left in reversed(range(TRIES)):
            try:
                os.replace(own, path)
                return
            except PermissionError:
                if not left:
                    raise
                time.sleep(PAUSE)
    finally:
        own.unlink(missing_ok=True)
