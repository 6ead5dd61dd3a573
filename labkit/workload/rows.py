"""Reading trace files line by line: bounded lines, exact numbers, and errors that name file and line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from labkit.core.errors import InputError, quoted
from labkit.workload.random_laws import MOST_TOKENS

LONGEST_LINE = 1 << 20
_INTEGER = re.compile(r"[0-9]{1,16}", re.ASCII)
_SIGNED = re.compile(r"-?[0-9]{1,16}", re.ASCII)
_DECIMAL = re.compile(r"[0-9]{1,16}(?:\.[0-9]{0,30})?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)
_LARGEST = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Row:
    """One request of a trace, as recorded. `at` and `deadline` are seconds on the trace's own clock."""

    line: int
    at: Fraction
    prompt: int
    output: int
    limit: int | None = None
    tenant: str = "default"
    priority: int = 0
    deadline: Fraction | None = None
    prefix: tuple[tuple[str, int], ...] = ()


class TraceFile:
    """An open trace: its lines one at a time, and errors that name the line."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label
        self.line = 0

    def error(self, given: str, expected: str, line: int | None = None) -> InputError:
        """The error to raise about the line that was read last, or about `line`."""
        return InputError(f"{self.label}: line {line or self.line}: given {given}, expected {expected}")

    def lines(self) -> Iterator[str]:
        """Each line without its end; blank ones are skipped. No line is longer than a mebibyte."""
        try:
            with open(self.path, "rb") as stream:
                while raw := stream.readline(LONGEST_LINE + 1):
                    self.line += 1
                    if len(raw) > LONGEST_LINE:
                        raise self.error(f"more than {LONGEST_LINE} bytes in one line", "a row of a trace")
                    if self.line == 1:
                        raw = raw.removeprefix(b"\xef\xbb\xbf")
                    try:
                        text = raw.decode("utf-8").strip()
                    except UnicodeDecodeError:
                        raise self.error("bytes that are not UTF-8", "a text file in UTF-8") from None
                    if text:
                        yield text
        except OSError as error:
            raise InputError(
                f"{self.label}: given a file that cannot be read ({error.strerror}), expected a trace"
            ) from None

    def cells(self) -> Iterator[list[str]]:
        """Each line as the cells of a CSV row, the header first."""
        for text in self.lines():
            try:
                row = next(csv.reader([text], strict=True))
            except (csv.Error, StopIteration):
                raise self.error(quoted(text), "cells separated by commas") from None
            yield [cell.strip() for cell in row]

    def header(self, rows: Iterator[list[str]], what: str) -> list[str]:
        """The first row; an empty file is refused."""
        first = next(rows, None)
        if first is None:
            self.line = self.line or 1
            raise self.error("an empty file", what)
        return first

    def width(self, row: list[str], names: list[str]) -> None:
        """Refuse a row that has not as many cells as the header has names."""
        if len(row) != len(names):
            raise self.error(f"{len(row)} cells", f"{len(names)}: {','.join(names)}")

    def count(self, text: str, name: str, least: int = 1) -> int:
        """A number of tokens of at least `least` from a cell."""
        if _INTEGER.fullmatch(text) and least <= (value := int(text)) <= MOST_TOKENS:
            return value
        raise self.error(f"{name} {quoted(text)}", f"a whole number from {least} to 2^24")

    def signed(self, text: str, name: str) -> int:
        """A whole number of either sign from a cell."""
        if _SIGNED.fullmatch(text) and abs(value := int(text)) <= _LARGEST:
            return value
        raise self.error(f"{name} {quoted(text)}", "a whole number")

    def seconds(self, text: str, name: str) -> Fraction:
        """Seconds from a cell, exactly as written, at most 1e9."""
        if _DECIMAL.fullmatch(text) and (value := Fraction(Decimal(text))) <= 10**9:
            return value
        raise self.error(f"{name} {quoted(text)}", "seconds from 0 to 1e9, such as 12.25")

    def objects(self) -> Iterator[dict[str, Any]]:
        """Each line as a JSON object; numbers with a point stay decimal."""
        for text in self.lines():
            try:
                value = json.loads(text, parse_float=Decimal, parse_constant=lambda name: None)
            except (ValueError, ArithmeticError, RecursionError):
                raise self.error(quoted(text), "a JSON object") from None
            if not isinstance(value, dict):
                raise self.error(quoted(text), "a JSON object")
            yield value
