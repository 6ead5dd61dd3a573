"""How a fork of the worker shuts itself in before any of a student's code runs. Standard library only.

`mode` says what is there to shut in with:

- `bwrap`: the worker already lives in bubblewrap's namespaces. The fork enters new ones of its own, so it sees no
  process but its own children, has its own small /tmp, and its whole tree dies with it. Where the grader is root
  the fork also takes a user id of its own.
- `uid`: no namespaces. The fork takes a user id that nobody else has; the worker sits in a root folder of its own.
- `none`: resource limits alone (`--unsandboxed`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
MS_NOSUID, MS_NODEV = 2, 4
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38

_libc: Any = None


def quiet() -> None:
    """Load the C library and point standard streams at nothing, while the file system is still all there."""
    global _libc  # noqa: PLW0603 - a forked child finds it loaded
    _libc = ctypes.CDLL(None, use_errno=True)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def enter(settings: dict[str, Any], keep: int) -> None:
    """Shut this fork in for good, or end it: every step that fails ends the process before a student's code runs."""
    try:
        os.setsid()
        _close_all_but(keep)
        if settings["mode"] == "bwrap":
            _namespaces(settings)
        if settings["uid"]:
            _drop(settings["uid"])
        _limits(settings)
        _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) if sys.platform == "linux" else 0, "no_new_privs")
        os.environ.clear()
        os.environ.update(HOME=settings["scratch"], TMPDIR=settings["scratch"], PATH="/usr/bin:/bin", LANG="C.UTF-8")
        os.chdir(settings["scratch"])
    except BaseException:  # noqa: BLE001 - nothing may go on from here
        os._exit(91)


def end(child: int, settings: dict[str, Any]) -> None:
    """End a fork and everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)  # in `bwrap` it is the first process of its namespace: all of it dies
    if settings["mode"] == "uid":
        _sweep(settings["uid"])
    elif settings["mode"] == "none":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _sweep(uid: int) -> None:
    """Kill every process of that user id, as that user: what escaped from the process group dies too."""
    for _ in range(20):
        killer = os.fork()
        if killer == 0:
            os.setresuid(uid, uid, uid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
                os._exit(0)
            os._exit(1)
        _, status = os.waitpid(killer, 0)
        if os.waitstatus_to_exitcode(status) == 1:  # nobody left
            return


def _close_all_but(keep: int) -> None:
    for low, high in ((3, keep), (keep + 1, 4096)):
        os.closerange(low, high)


def _namespaces(settings: dict[str, Any]) -> None:
    inner = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (0 if settings["uid"] else CLONE_NEWUSER)
    _check(_libc.unshare(inner), "unshare")
    # The next fork is the first process of the new namespace; this one waits for it and ends when it ends.
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "pdeathsig")
    child = os.fork()
    if child:
        os.closerange(3, 4096)
        os.waitpid(child, 0)
        os._exit(0)
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "pdeathsig")
    size = f"size={settings['scratch_bytes']},nr_inodes=2048,mode=1777".encode()
    _check(_libc.mount(b"tmpfs", settings["scratch"].encode(), b"tmpfs", MS_NOSUID | MS_NODEV, size), "tmpfs")


def _drop(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid):
        raise OSError("still another user")


def _limits(settings: dict[str, Any]) -> None:
    for name, value in settings["limits"].items():
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            with contextlib.suppress(ValueError, OSError) if settings["mode"] == "none" else contextlib.nullcontext():
                resource.setrlimit(number, (value, value))


def _check(status: int, what: str) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), what)
