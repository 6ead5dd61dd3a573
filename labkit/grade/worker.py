"""Runs inside the sandbox, as a script: packages are imported once, then each submission gets a fork of its own.

The grader holds the other end of a control socket. `r` with a file descriptor starts a submission on it, `e` ends
it and everything that it started. A fork is shut in (`confine.py`), runs the cells of one notebook in order, and
then answers narrow requests on its descriptor: the value of a name, or the result of a call. Each request carries a
nonce that its reply repeats.

Nothing that a fork says is trusted: it shares a process with a student's code, which may take it over. It decides
nothing. It can only hand out values, one for each question.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import os
import signal
import socket
import sys
import types
from typing import Any

MAX_LINE = 16 << 20


def main(control_fd: int, settings: dict[str, Any]) -> None:
    """Import what answers may use, then fork on demand until the grader closes the control socket."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [here, *(p for p in sys.path if p and p != here), *settings["path"]]
    sys.dont_write_bytecode = True
    for name in settings["preload"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    import confine

    confine.prepare(settings)
    control = socket.socket(fileno=control_fd)
    control.sendall(b"!")
    child = 0
    while True:
        message, fds, _, _ = socket.recv_fds(control, 1, 1)
        confine.end(child, settings)
        child = 0
        if message == b"r":
            child = confine.fork(settings, fds[0])
            if child == 0:
                _serve(socket.socket(fileno=fds[0]))
                os._exit(0)
            os.close(fds[0])
        elif message == b"e":
            control.sendall(b".")
        else:
            return


def _serve(channel: socket.socket) -> None:
    """Read one job, run its cells, answer requests until the other end closes."""
    import values  # beside this file in the box

    encode, decode, refused = values.encode, values.decode, values.ValueRefusedError
    loads, dumps, alarm, clock = json.loads, json.dumps, signal.setitimer, signal.ITIMER_REAL
    base, system_exit = BaseException, SystemExit
    reader, write = channel.makefile("rb"), channel.sendall

    def send(message: Any) -> None:
        write(dumps(message).encode() + b"\n")

    job = loads(reader.readline(MAX_LINE))
    module = types.ModuleType("__main__")
    names = module.__dict__
    names.update(display=lambda *_, **__: None, get_ipython=lambda: None)
    sys.modules["__main__"] = module
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), _Sink(), _Sink()
    signal.signal(signal.SIGALRM, _ring)
    for number, source in enumerate(job["cells"]):
        if number in job["skip"]:
            continue
        send({"cell": number})
        alarm(clock, job["cell_seconds"])
        try:
            exec(compile(_python(source), f"<cell {number + 1}>", "exec"), names)
        except base as error:
            alarm(clock, 0)
            send({"cell": number, "error": type(error).__name__[:60], "text": _text(error, system_exit)})
        finally:
            alarm(clock, 0)
    send({"ready": True})
    for line in reader:
        request = loads(line)
        reply: dict[str, Any] = {"nonce": request["nonce"]}
        alarm(clock, job["call_seconds"])
        try:
            found = names[request["name"]]
            if "args" in request:
                found = found(*decode(request["args"]))
            reply["value"] = encode(found)
        except refused as error:
            reply["error"], reply["text"] = "refused", str(error)[:200]
        except base as error:
            missing = isinstance(error, KeyError) and request["name"] not in names
            reply["error"] = "missing" if missing else type(error).__name__[:60]
        finally:
            alarm(clock, 0)
        send(reply)


class _Sink(io.TextIOBase):
    """Where prints go: nowhere. Endless output costs neither memory nor marks."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Count and forget."""
        return len(text)

    def writable(self) -> bool:
        """Yes."""
        return True

    def isatty(self) -> bool:
        """No."""
        return False


class CellTimeoutError(BaseException):
    """A cell or a call took longer than it may."""


def _ring(*_: object) -> None:
    raise CellTimeoutError("took longer than it may")


def _python(source: str) -> str:
    """A cell as plain Python: where it does not parse, lines of IPython's magics are taken for nothing."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        lines = source.split("\n")
        if lines[0].startswith("%%"):
            return ""
        return "\n".join("pass" if line.startswith(("%", "!")) else line for line in lines)
    return source


def _text(error: BaseException, system_exit: type[BaseException]) -> str:
    try:
        return "" if isinstance(error, system_exit) else str(error)[:300]
    except BaseException:  # noqa: BLE001 - its own __str__ is a student's code too
        return ""


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
