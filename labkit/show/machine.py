"""What machine this is: asked of the system, nothing assumed, nothing heavy imported.

torch is never imported here (that takes seconds and fails where it is broken): its version and the CUDA
that it was built for are read from its files. What cannot be found out is said to be unknown.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from labkit.show.tables import Table
from labkit.show.text import t


def hardware() -> Table:
    """Processor, usable cores, memory, system, Python, PyTorch and GPU of this machine, as a table."""
    found = torch_build()
    rows = [
        ("cpu", processor()),
        ("cores", str(cores())),
        ("memory", memory()),
        ("system", f"{platform.system()} {platform.release()}".strip()),
        ("python", platform.python_version()),
        ("torch", _torch_words(found)),
        ("gpu", _gpu_words(gpu(), found)),
    ]
    lines = [(t(f"hardware.{key}"), value or t("hardware.unknown")) for key, value in rows]
    return Table(t("hardware.title"), (), lines)


def processor() -> str:
    """The processor's name, empty where the system does not tell."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = re.search(
            r"^model name\s*:\s*(.+)$", info.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
        )
        if named:
            return named.group(1).strip()
    if sys.platform == "darwin":
        return _ask("sysctl", "-n", "machdep.cpu.brand_string")
    return platform.processor() or platform.machine()


def cores() -> int:
    """How many logical cores this process may use: in a container perhaps fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> str:
    """The machine's memory in GiB, empty where the system does not tell."""
    total = _memory_bytes()
    return f"{total / 2**30:.1f} GiB" if total else ""


def _memory_bytes() -> int:
    if sys.platform == "win32":
        return _windows_memory()
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def _windows_memory() -> int:
    kilobytes = ctypes.c_ulonglong(0)
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009  (there on Windows alone)
    return kilobytes.value * 1024 if kernel.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes)) else 0


def torch_build() -> tuple[str, str] | None:
    """(version, CUDA that it was built for or "") of the installed torch; None where it cannot be had."""
    try:
        spec = importlib.util.find_spec("torch")
        version = metadata.version("torch")
    except (ImportError, ValueError):  # not installed, or blocked
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    stated = Path(spec.submodule_search_locations[0], "version.py")
    text = stated.read_text(encoding="utf-8") if stated.exists() else ""
    cuda = re.search(r"^cuda\b[^=]*=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return version, cuda.group(1) if cuda else ""


def gpu() -> str:
    """Name and memory of the NVIDIA GPUs that the driver reports, empty where there is none."""
    lines = _ask("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader").splitlines()
    return "; ".join(line.strip() for line in lines)


def _torch_words(found: tuple[str, str] | None) -> str:
    if found is None:
        return t("hardware.no_torch")
    version, cuda = found
    return t("hardware.torch_cuda" if cuda else "hardware.torch_cpu", version=version, cuda=cuda)


def _gpu_words(name: str, found: tuple[str, str] | None) -> str:
    if not name:
        return t("hardware.no_gpu")
    return name if found and found[1] else t("hardware.gpu_idle", name=name)


def _ask(*command: str) -> str:
    """What a system command prints; empty where it is not there, fails, or takes over five seconds."""
    path = shutil.which(command[0])
    if path is None:
        return ""
    try:
        answer = subprocess.run([path, *command[1:]], capture_output=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.decode("utf-8", errors="replace").strip()
