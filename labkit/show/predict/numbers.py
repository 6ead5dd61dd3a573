"""Numbers as people type them, read exactly: `33.3`, `100/3`, `37 %`, full-width digits too."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from numbers import Real

LONGEST = 40
FORM = re.compile(r"[-+]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15}|\d{1,12}/\d{1,12})", re.ASCII)


def read_number(text: str, unit: str = "") -> Fraction | None:
    """The number that `text` says, its unit or not; None where it says none."""
    if len(text) > LONGEST:
        return None
    plain = unicodedata.normalize("NFKC", text).replace("−", "-").strip()
    if unit and plain.lower().endswith(unit.lower()):
        plain = plain[: -len(unit)].strip()
    plain = plain.removesuffix("%").strip()
    if not FORM.fullmatch(plain):
        return None
    try:
        return Fraction(plain.removesuffix("."))
    except ZeroDivisionError:
        return None


def exact(value: object) -> Fraction:
    """A computed value as a fraction: whole, float, Fraction, and what can be turned into a float.

    Raises ValueError where it is no finite number.
    """
    try:
        return Fraction(value) if isinstance(value, Real) else Fraction(str(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"given {value!r}, expected a finite number") from None
