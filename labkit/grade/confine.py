"""How a fork of the worker shuts itself in before any of a student's code runs. Standard library only.

`mode` says what there is to shut in with:

- `bwrap`: the worker already lives in bubblewrap's namespaces. A fork enters new ones of its own: it sees no process
  but its own children, has a small /tmp of its own, and all of it dies with its first process. Where the grader is
  root the fork also takes a user id that nobody else has; elsewhere it is nobody in a user namespace.
- `uid`: no namespaces. The worker sits in a root folder of its own (chroot) in which nothing can be written, and a fork
  takes a user id that nobody else has and may open no socket.
- `none`: resource limits alone (`--unsandboxed`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x08000000, 0x10000000, 0x20000000
MS_NOSUID, MS_NODEV = 2, 4
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 22, 24, 36, 38
CAPABILITY_VERSION_3 = 0x20080522
# The system calls that open a socket (io_uring can open one too), by machine: audit number, then the calls.
SOCKET_CALLS = {"x86_64": (0xC000003E, (41, 425)), "aarch64": (0xC00000B7, (198, 425))}
FAILED = 91

_libc: Any = None


def prepare(settings: dict[str, Any]) -> None:
    """Load the C library, point standard streams at nothing, and in `uid` mode leave the file system behind."""
    global _libc  # noqa: PLW0603 - forks find it loaded
    _libc = ctypes.CDLL(None, use_errno=True)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    if sys.platform == "linux":
        _check(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "subreaper")
    if settings["mode"] == "uid":
        os.chroot(settings["root"])
        os.chdir("/")


def fork(settings: dict[str, Any], keep: int) -> int:
    """Fork for one submission: 0 in the fork, which is shut in; its process id in the worker.

    Only the descriptor `keep` stays open in the fork. A fork in which any step fails ends at once.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            if settings["mode"] == "bwrap":
                os.waitpid(child, 0)  # it has only made the first process of a namespace, whose id it tells
                child = int(pipe.read() or -1)
        return child
    try:
        os.setsid()
        if settings["mode"] == "bwrap":
            user = 0 if settings["uid"] else CLONE_NEWUSER
            _check(_libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | user), "unshare")
            if first := os.fork():
                os.write(writer, str(first).encode())
                os._exit(0)
            size = f"size={settings['scratch_bytes']},nr_inodes=1024,mode=1777".encode()
            _check(
                _libc.mount(b"tmpfs", settings["scratch"].encode(), b"tmpfs", MS_NOSUID | MS_NODEV, size),
                "tmpfs",
            )
        for low, high in ((3, keep), (keep + 1, 4096)):
            os.closerange(low, high)
        _shut(settings)
    except BaseException:  # noqa: BLE001 - nothing may go on from here
        os._exit(FAILED)
    return 0


def end(child: int, settings: dict[str, Any]) -> None:
    """End a fork and everything that it started."""
    if child <= 0:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)  # in `bwrap` it is the first process of its namespace: all of it dies
    if settings["mode"] == "none":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
    if settings["mode"] == "uid":
        _sweep(settings["uid"])
    _reap()


def _sweep(uid: int) -> None:
    """Kill every process of that user id, as that user: what left its group dies too.

    The kernel lets no process fork between the signal and its death; the second pass is for good measure.
    """
    for _ in range(2):
        killer = os.fork()
        if killer == 0:
            os.setresuid(uid, uid, uid)
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)
            os._exit(0)
        os.waitpid(killer, 0)
        _reap()


def _reap() -> None:
    """Take leave of orphans that came to this worker."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _shut(settings: dict[str, Any]) -> None:
    for name, value in settings["limits"].items():
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            optional = settings["mode"] == "none"
            with contextlib.suppress(ValueError, OSError) if optional else contextlib.nullcontext():
                resource.setrlimit(number, (value, value))
    if uid := settings["uid"]:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        if os.getresuid() != (uid, uid, uid):
            raise OSError("still another user")
    if sys.platform == "linux":
        _drop_capabilities()
        _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if settings["mode"] == "uid":
        _no_sockets()
    os.environ.clear()
    os.environ.update(
        HOME=settings["scratch"], TMPDIR=settings["scratch"], PATH="/usr/bin:/bin", LANG="C.UTF-8"
    )
    os.chdir(settings["scratch"])


def _drop_capabilities() -> None:
    for capability in range(64):
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    head = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(head, bytes(24)), "capset")


def _no_sockets() -> None:
    """A seccomp filter: a call that opens a socket fails. Machines with other numbers are refused by the trial."""
    audit, calls = SOCKET_CALLS[platform.machine()]
    load, jump_equal, jump_least, give = 0x20, 0x15, 0x35, 0x06
    refuse, allow = 0x00050000 | 1, 0x7FFF0000  # errno EPERM; go on
    program = [(load, 0, 0, 4), (jump_equal, 0, len(calls) + 3, audit), (load, 0, 0, 0)]
    program.append((jump_least, len(calls) + 1, 0, 0x40000000))  # the other calling convention of x86
    program += [(jump_equal, len(calls) - place, 0, call) for place, call in enumerate(calls)]
    program += [(give, 0, 0, allow), (give, 0, 0, refuse)]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    store = ctypes.create_string_buffer(code, len(code))
    _check(
        _libc.prctl(PR_SET_SECCOMP, 2, struct.pack("HxxxxxxP", len(program), ctypes.addressof(store)), 0, 0),
        "seccomp",
    )


def _check(status: int, what: str) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), what)
