"""The box in which workers live, tried out before it is trusted: bubblewrap, a separate user, or (told to) nothing."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

from labkit.grade import contents
from labkit.grade.exercise import Exercise

Mode = Literal["bwrap", "uid", "none"]
MODES: tuple[Mode, ...] = ("bwrap", "uid")
START_SECONDS = 60
END_SECONDS = 20
FIRST_UID = 1_900_000_000  # no system hands these out; each box takes its own
MIB = 1 << 20
LIMITS = {
    "AS": 1024 * MIB, "CPU": 90, "FSIZE": 16 * MIB, "NOFILE": 64, "NPROC": 8, "CORE": 0, "MSGQUEUE": 0,
}  # fmt: skip


class BoxError(Exception):
    """The box cannot be started, or has ended: nothing that a student did is to blame."""


class Box:
    """A running worker for one exercise; submissions run in it one after another, each in a fork of its own."""

    def __init__(self, exercise: Exercise, mode: Mode) -> None:
        self.mode = mode
        self.folder = Path(tempfile.mkdtemp(prefix="labkit-grade-")).resolve()
        self.process: subprocess.Popen[bytes] | None = None
        self.control, other = socket.socketpair()
        self.running = False
        try:
            self.folder.chmod(0o755)
            tree = contents.build_tree(exercise, self.folder / "tree")
            command, settings = self._command(tree)
            self.process = subprocess.Popen(
                [*command, sys._base_executable, "-I", "-S", "-B", str(tree / "worker.py"), str(other.fileno()),  # type: ignore[attr-defined]
                 json.dumps(settings)],
                pass_fds=[other.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, preexec_fn=_first_to_go, cwd="/",  # noqa: PLW1509 - a slot has one thread
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "HOME": "/nowhere"},
            )  # fmt: skip
            other.close()
            self._expect(b"!", START_SECONDS)
        except BaseException:
            other.close()
            self.close()
            raise

    def _command(self, tree: Path) -> tuple[list[str], dict[str, Any]]:
        """The command that stands before Python's, and the worker's settings."""
        root = os.name == "posix" and os.geteuid() == 0
        uid = FIRST_UID + os.getpid() % 2**22 * 16 + int.from_bytes(os.urandom(1), "big") % 16
        settings: dict[str, Any] = {
            "mode": self.mode, "uid": uid if root and self.mode != "none" else 0, "limits": LIMITS,
            "scratch": "/scratch", "scratch_bytes": 16 * MIB, "preload": contents.PRELOAD,
            "root": str(self.folder / "root"),
            "path": list(dict.fromkeys(str(place.parent) for place in contents.packages())),
        }  # fmt: skip
        if self.mode == "bwrap":
            return self._bubblewrap(tree, root), settings
        if self.mode == "uid":
            if not root:
                raise BoxError("only root may take another user id")
            contents.build_root(Path(settings["root"]), [contents.library(), *contents.packages(), tree])
            (Path(settings["root"]) / "scratch").mkdir()
            return [], settings
        links, scratch = self.folder / "packages", self.folder / "scratch"
        links.mkdir()
        scratch.mkdir()
        for place in contents.packages():
            (links / place.name).symlink_to(place)
        limits = {name: LIMITS[name] for name in ("AS", "CPU", "CORE")}
        return [], settings | {"path": [str(links)], "scratch": str(scratch), "limits": limits}

    def _bubblewrap(self, tree: Path, root: bool) -> list[str]:
        program = shutil.which("bwrap")
        if program is None:
            raise BoxError("bubblewrap (bwrap) is not installed")
        command = [
            program, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
            "--die-with-parent", "--new-session",
        ]  # fmt: skip
        if root:  # real root may shut in without a user namespace, and needs these to give each fork its own user id
            command += ["--cap-drop", "ALL"]
            for capability in ("SYS_ADMIN", "SETUID", "SETGID", "KILL", "SETPCAP"):
                command += ["--cap-add", f"CAP_{capability}"]
        else:
            command += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
        bound = [Path(place) for place in contents.SYSTEM]
        bound += [Path(sys.base_prefix).resolve(), contents.library(), *contents.packages()]
        # Folders above what is shown: bubblewrap would make them for root alone.
        for above in dict.fromkeys(up for place in [*bound, tree] for up in reversed(place.parents[:-1])):
            command += ["--perms", "0755", "--dir", str(above)]
        for place in dict.fromkeys(bound):
            command += ["--ro-bind-try", str(place), str(place)]
        for place in contents.hidden_from(bound):
            command += ["--tmpfs", str(place), "--remount-ro", str(place)]
        command += ["--ro-bind", str(tree), str(tree)]
        command += ["--perms", "0755", "--dir", "/dev"]
        for device in ("null", "zero", "urandom", "random"):
            command += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
        return [*command, "--dir", "/scratch", "--chdir", "/", "--remount-ro", "/", "--"]

    def run(self) -> socket.socket:
        """Start a fork for one submission; returns the grader's end of its channel."""
        mine, theirs = socket.socketpair()
        try:
            socket.send_fds(self.control, [b"r"], [theirs.fileno()])
        except OSError:
            mine.close()
            raise BoxError("the worker has ended") from None
        finally:
            theirs.close()
        self.running = True
        return mine

    def end(self) -> None:
        """End what `run` started, with everything that it started itself."""
        if self.running:
            self.running = False
            with contextlib.suppress(OSError):
                self.control.sendall(b"e")
            self._expect(b".", END_SECONDS)

    def _expect(self, answer: bytes, seconds: float) -> None:
        self.control.settimeout(seconds)
        try:
            got = self.control.recv(1)
        except OSError:
            got = b""
        if got != answer:
            raise BoxError("the worker does not start" if answer == b"!" else "the worker has ended")

    def close(self) -> None:
        """End the worker and remove its folder."""
        self.control.close()
        if self.process is not None:
            try:
                self.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGKILL)
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _first_to_go() -> None:
    """When memory runs out, the kernel ends the box before anything else of this machine."""
    with (
        contextlib.suppress(OSError),
        open("/proc/self/oom_score_adj", "w", encoding="ascii", newline="\n") as file,
    ):
        file.write("1000")
