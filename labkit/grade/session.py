"""The grader's side of one student's process: it runs the cells, asks questions, and believes nothing but data.

A reply counts only if it repeats the nonce of the question that was just asked. A reply that is there before its
question, repeats another nonce, or is no value of the closed set, ends the session. A process that hangs or ends in a
cell is started once more without that cell, so that one bad cell does not cost the others' marks.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import select
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from labkit.grade import values
from labkit.grade.exercise import NOT_THERE
from labkit.grade.sandbox import Box

GRACE = 1.5  # seconds beyond the worker's own alarm, for code that does not hear it
RESTARTS = 3


class NoAnswerError(Exception):
    """Nothing usable came; `reason` is a key of `grade.verdict.*`, `seconds` the limit where one was passed."""

    def __init__(self, reason: str, seconds: float = 0) -> None:
        self.reason, self.seconds = reason, seconds
        super().__init__(reason)


@dataclass(frozen=True)
class Limits:
    """Wall clocks, in seconds: a cell, a call, and everything that a notebook may take together."""

    cell: float = 10
    call: float = 4
    notebook: float = 60


@dataclass(frozen=True)
class CellError:
    """A cell that did not run to its end: its place among the code cells, the error's name and text."""

    cell: int
    kind: str
    text: str = ""


@dataclass
class Session:
    """One submission's process in a box. Use as a context manager."""

    box: Box
    cells: list[str]
    limits: Limits = field(default_factory=Limits)
    errors: dict[int, CellError] = field(default_factory=dict)
    _channel: socket.socket | None = None
    _buffer: bytes = b""
    _deadline: float = 0
    _restarts: int = 0
    _forged: bool = False

    def __enter__(self) -> Session:
        self._deadline = time.monotonic() + self.limits.notebook
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def value(self, name: str) -> Any:
        """The value of a name, as plain data; raises NoAnswerError."""
        return self._ask({"name": name})

    def call(self, name: str, args: tuple[Any, ...]) -> Any:
        """The result of a call with plain arguments; raises NoAnswerError."""
        return self._ask({"name": name, "args": values.encode(list(args))})

    def start(self) -> None:
        """Run the cells if no process is there; raises NoAnswerError when it cannot be had any more."""
        while self._channel is None:
            if self._forged:
                raise NoAnswerError("forged")
            if time.monotonic() > self._deadline:
                raise NoAnswerError("late", self.limits.notebook)
            if self._restarts > RESTARTS:
                raise NoAnswerError("ended")
            self._restarts += 1
            self._channel, self._buffer = self.box.run(), b""
            self._run_cells()

    def _run_cells(self) -> None:
        """Send the job and follow it through the cells; a cell that takes the process down is left out next time."""
        skip = [number for number, error in self.errors.items() if error.kind in ("ended", "slow")]
        job = {
            "cells": self.cells,
            "skip": skip,
            "cell_seconds": self.limits.cell,
            "call_seconds": self.limits.call,
        }
        self._send(job)
        cell = -1
        while True:
            try:
                message = self._receive(self.limits.cell + GRACE)
            except NoAnswerError as error:
                if error.reason != "forged" and cell >= 0:
                    self.errors[cell] = CellError(cell, error.reason)
                self._stop()
                if error.reason == "forged":
                    raise
                return
            match message:
                case {"ready": True}:
                    return
                case {"cell": int(number), "error": str(kind), "text": str(text)} if (
                    0 <= number < len(self.cells)
                ):
                    self.errors[number] = CellError(number, kind[:60], text[:300])
                case {"cell": int(number)} if cell < number < len(self.cells):
                    cell = number
                case _:
                    self._forge()

    def _ask(self, request: dict[str, Any]) -> Any:
        self.start()
        if self._buffer or self._readable(0):
            if self._closed():
                self._stop()
                raise NoAnswerError("ended")
            self._forge()
        nonce = secrets.token_hex(16)
        self._send({**request, "nonce": nonce})
        try:
            reply = self._receive(self.limits.call + GRACE)
        except NoAnswerError as error:
            self._stop()
            raise NoAnswerError(error.reason, self.limits.call) from None
        if not isinstance(reply, dict) or reply.get("nonce") != nonce:
            self._forge()
        if "value" in reply:
            try:
                return values.decode(reply["value"])
            except values.ValueRefusedError:
                raise NoAnswerError("refused") from None
        kind = reply.get("error")
        if kind in ("refused", "missing"):
            raise NoAnswerError(kind)
        if kind == "NotImplementedError":
            raise NoAnswerError("todo")
        if kind in ("ModuleNotFoundError", "ImportError"):
            raise NoAnswerError(NOT_THERE)
        if kind == "CellTimeoutError":
            raise NoAnswerError("slow", self.limits.call)
        raise NoAnswerError("raised")

    def _forge(self) -> Any:
        self._forged = True
        self._stop()
        raise NoAnswerError("forged")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._channel is not None
        self._channel.settimeout(self.limits.call)
        with contextlib.suppress(OSError):  # it has ended, or does not read: the missing reply says so
            self._channel.sendall(json.dumps(message).encode() + b"\n")

    def _readable(self, seconds: float) -> bool:
        assert self._channel is not None
        return bool(select.select([self._channel], [], [], max(0, seconds))[0])

    def _closed(self) -> bool:
        """Whether the other end has ended without a byte more."""
        assert self._channel is not None
        try:
            return not self._buffer and not self._channel.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _receive(self, seconds: float) -> Any:
        assert self._channel is not None
        end = min(time.monotonic() + seconds, self._deadline)
        while b"\n" not in self._buffer:
            if not self._readable(end - time.monotonic()):
                raise NoAnswerError("slow")
            try:
                part = self._channel.recv(1 << 16)
            except OSError:
                part = b""
            if not part:
                raise NoAnswerError("ended")
            self._buffer += part
            if len(self._buffer) > values.MAX_MESSAGE:
                self._forge()
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            return values.parse(line)
        except values.ValueRefusedError:
            return self._forge()

    def _stop(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
            self.box.end()
