"""A clone sets itself up: `.venv` is made, packages are installed, JupyterLab starts.

Standard library only, the same on Linux, macOS and Windows: no make, no shell, no conda. What was installed is
kept in a stamp inside `.venv`, so that a second start has nothing to do. The repository is put on the path of
`.venv` by a relative `.pth` file rather than by `pip install -e .`: that needs no build tool, survives a moved
folder, and stays ASCII where the folder's own path is not (Python before 3.13 reads such files in the code page
of the system).
"""

import argparse
import contextlib
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRIED = ((3, 11), (3, 12), (3, 13))
START_PAGE = "notebooks/00_start.ipynb"
LOG = "labkit-install.log"


class ProblemError(Exception):
    """Something that the person at the keyboard can mend; its text is the one line that says how."""


class Environment:
    """The `.venv` of one clone: where it is, what its stamp says, how it is brought up to date."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.stamp = self.folder / "labkit-stamp.json"

    @property
    def python(self) -> Path:
        """Return the interpreter of `.venv`, there or not."""
        parts = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
        return self.folder.joinpath(*parts)

    @property
    def site(self) -> Path:
        """Return the folder of `.venv` where packages lie."""
        major, minor = self.version()
        lib = "Lib" if os.name == "nt" else f"lib/python{major}.{minor}"
        return self.folder / lib / "site-packages"

    def version(self) -> tuple[int, int]:
        """Return the Python version of `.venv` as it was made, (0, 0) if that cannot be told."""
        with contextlib.suppress(OSError, ValueError):
            for line in (self.folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
                key, _, value = line.partition("=")
                if key.strip() in ("version", "version_info"):
                    major, minor = value.strip().split(".")[:2]
                    return int(major), int(minor)
        return 0, 0

    def fingerprint(self) -> str:
        """Return the hash of all that decides what has to be installed, extras and torch apart."""
        parts = [(self.root / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
        return hashlib.sha256(b"\0".join([*parts, repr(self.version()).encode()])).hexdigest()

    def installed(self) -> dict[str, object]:
        """Return the stamp; an empty one where an installation was never finished."""
        try:
            stamp = json.loads(self.stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) and self.python.exists() else {}

    def prepare(self, extras: Iterable[str], options: argparse.Namespace) -> Path:
        """Bring `.venv` up to date and return its interpreter; quick when nothing changed.

        Extras that are already there stay; without `--model` or `--no-model` torch stays as it was chosen.
        """
        have = self.installed()
        old = have.get("extras", [])
        wanted = sorted({*extras, *(old if isinstance(old, list) else [])})
        model = bool(have.get("model", True)) if options.model is None else bool(options.model)
        # torch that is there does no harm to someone who can do without it.
        model = model or bool(have.get("model", False))
        if have == {"fingerprint": self.fingerprint(), "extras": wanted, "model": model}:
            return self.python
        self._make()
        self.stamp.unlink(missing_ok=True)
        self._install(self.requirements(wanted, model), model, options)
        path = os.path.relpath(self.root, self.site)
        _write(self.site / "labkit.pth", f"{path}\n")
        self._quiet_jupyter()
        stamp = {"fingerprint": self.fingerprint(), "extras": wanted, "model": model}
        _write(self.stamp, json.dumps(stamp) + "\n")
        return self.python

    def requirements(self, extras: Iterable[str], model: bool) -> list[str]:
        """Return what pyproject.toml asks for, without torch where no model is wanted."""
        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        lines: list[str] = list(project["dependencies"])
        for extra in extras:
            lines += project["optional-dependencies"][extra]
        return [line for line in lines if model or not line.startswith("torch")]

    def _make(self) -> None:
        """Make `.venv` where there is none that works; one that does not work is kept beside it."""
        if self.folder.exists():
            if self.python.exists() and self.version() >= TRIED[0] and runs([str(self.python), "--version"]):
                return
            aside = next(p for n in range(1, 1000) if not (p := self.root / f".venv-old-{n}").exists())
            print(f"labkit: .venv is there but does not start; it is kept as {aside.name}, yours to delete")
            self.folder.rename(aside)
        here = "{}.{}".format(*sys.version_info[:2])
        if sys.version_info[:2] not in TRIED:
            print(
                f"labkit: Python {here} has not been tried with labkit (3.11, 3.12 and 3.13 have); going on"
            )
        if importlib.util.find_spec("ensurepip") is None:
            raise ProblemError(
                f"Python {here} comes without ensurepip, so it cannot make .venv: "
                "on Debian and Ubuntu `apt install python3-venv` brings it"
            )
        print(f"labkit: making .venv with Python {here}", flush=True)
        made = subprocess.run(
            [sys.executable, "-m", "venv", str(self.folder)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
        if made.returncode:
            lines = made.stdout.strip().splitlines() or ["no reason given"]
            raise ProblemError(f"`{sys.executable} -m venv` failed: {lines[-1]}")

    def _install(self, requirements: list[str], model: bool, options: argparse.Namespace) -> None:
        python = str(self.python)
        if not runs([python, "-m", "pip", "--version"]):
            runs([python, "-m", "ensurepip"])
        source: list[str] = []
        if options.wheelhouse:
            folder = Path(options.wheelhouse).expanduser().resolve()
            if not folder.is_dir():
                raise ProblemError(f"--wheelhouse: {folder} is not a folder; give one that holds wheels")
            source = ["--no-index", "--find-links", str(folder)]
        elif options.index:
            source = ["--index-url", options.index]
        print("labkit: installing into .venv" + ("" if model else " without torch"), flush=True)
        if model and not source and sys.platform == "linux" and not (self.site / "torch").exists():
            print(
                "labkit: on Linux torch may bring CUDA libraries along, 2.7 GB to download; "
                "--no-model leaves it out, everything but the real model works without"
            )
        command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        command += ["--progress-bar", "off", "-c", str(self.root / "constraints.txt"), *source, *requirements]
        # PIP_USER in somebody's settings would install past .venv.
        status, lines = follow(command, self.folder / LOG, _told_by_pip, {"PIP_USER": "0"})
        if status:
            raise ProblemError(f"{_why(lines)}; all that pip said is in .venv/{LOG}")

    def _quiet_jupyter(self) -> None:
        """Let JupyterLab ask nothing and fetch no news at its first start."""
        settings = self.folder / "share/jupyter/lab/settings/overrides.json"
        if not settings.exists():
            settings.parent.mkdir(parents=True, exist_ok=True)
            news = {"fetchNews": "false", "checkForUpdates": False}
            _write(settings, json.dumps({"@jupyterlab/apputils-extension:notification": news}) + "\n")


def main(argv: list[str]) -> int:
    """Run `lab`, `test` or `bench`; `argv` starts with that word."""
    if not (ROOT / "constraints.txt").exists():
        print(f"labkit: `{argv[0]}` works in a clone of the repository, not in {ROOT}", file=sys.stderr)
        return 2
    try:
        if argv[0] == "test":
            from labkit import testing

            return testing.main(argv[1:])
        return {"lab": lab, "bench": bench}[argv[0]](argv[1:])
    except ProblemError as problem:
        print(f"labkit: {problem}", file=sys.stderr)
        return 1


def parser(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every installing command has."""
    made = argparse.ArgumentParser(f"python -m labkit {command}", description=description, allow_abbrev=False)
    made.add_argument("--index", metavar="URL", help="a mirror to install from instead of the usual index")
    made.add_argument(
        "--wheelhouse", metavar="DIR", help="install from this folder of wheels, without a network"
    )
    made.add_argument(
        "--model",
        action=argparse.BooleanOptionalAction,
        help="with torch (default), or without: everything but the real model works; remembered",
    )
    return made


def lab(argv: list[str]) -> int:
    """Open JupyterLab at the start page, on this machine's own address only."""
    options = parser("lab", "Open JupyterLab at the start page. Other arguments go to JupyterLab.")
    options.add_argument("--no-browser", action="store_true", help="print the address, open no browser")
    options.add_argument(
        "--port", type=int, metavar="N", help="the port to listen on (default: 8888 or the next)"
    )
    given, rest = options.parse_known_args(argv)
    if given.port is not None and not 1 <= given.port <= 65535:
        options.error(f"argument --port: {given.port} is no port, expected 1 to 65535")
    if given.port and not _free(given.port):
        raise ProblemError(f"port {given.port} is taken: give another with --port, or none")
    python = Environment().prepare((), given)
    command = [str(python), "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}", "--ServerApp.ip=127.0.0.1"]
    command += [
        "--log-level=WARN",
        "--ServerApp.answer_yes=True",
        f"--LabApp.default_url=/lab/tree/{START_PAGE}",
    ]
    if given.port:
        command += [f"--port={given.port}", "--ServerApp.port_retries=0"]
    if given.no_browser or not _has_display():
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    print("labkit: starting JupyterLab; Ctrl-C ends it", flush=True)
    os.chdir(ROOT)
    return replace_process([*command, *rest])


def bench(argv: list[str]) -> int:
    """Install what is compared against, then run the benchmarks with the remaining arguments."""
    options = parser(
        "bench", "Run the benchmarks. Other arguments go to them: `bench -- --help` tells which."
    )
    given, rest = options.parse_known_args(argv)
    python = Environment().prepare(["bench"], given)
    os.chdir(ROOT)
    return replace_process([str(python), "-m", "benchmarks", *(rest[1:] if rest[:1] == ["--"] else rest)])


def ready_python() -> str | None:
    """Return the interpreter of a finished `.venv`, None where there is none or it is the running one."""
    environment = Environment()
    if not environment.installed() or Path(sys.prefix).resolve() == environment.folder.resolve():
        return None
    return str(environment.python)


def replace_process(command: list[str]) -> int:
    """Go on as another program; where the system cannot replace a process, wait for it and give its status."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execv(command[0], command)
    return subprocess.call(command)


def follow(
    command: list[str], log: Path, tell: Callable[[str], str], variables: dict[str, str]
) -> tuple[int, list[str]]:
    """Run a command with all its output in a log, showing what `tell` makes of a line (empty: nothing).

    On a terminal one line with the seconds is rewritten; elsewhere a line is printed at most every ten seconds.
    Returns the exit status and the output's lines.
    """
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8", **variables}
    started, lines, status = time.monotonic(), [], "starting"
    with (
        log.open("w", encoding="utf-8", newline="\n") as kept,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        ) as child,
        _ticker(lambda: f"{status} ({time.monotonic() - started:.0f} s)"),
    ):  # fmt: skip
        for line in child.stdout or ():
            kept.write(line)
            lines.append(line.rstrip())
            status = tell(line.strip()) or status
    return child.returncode, lines


@contextlib.contextmanager
def _ticker(text: Callable[[], str]) -> Iterator[None]:
    """Keep showing a changing text from a thread of its own."""
    terminal = sys.stdout.isatty()
    done = threading.Event()

    def show() -> None:
        while not done.wait(0.5 if terminal else 10):
            if terminal:
                width = shutil.get_terminal_size().columns - 1
                print("\r" + text()[:width].ljust(width), end="", flush=True)
            else:
                print("  " + text(), flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if terminal:
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", flush=True)


def _told_by_pip(line: str) -> str:
    """Make one short phrase of a line of pip's output, empty for one that says nothing new."""
    word, _, rest = line.partition(" ")
    if word == "Collecting":
        return f"looking up {rest.split(' (')[0]}"
    if word == "Downloading" and ".metadata" not in rest:
        return f"downloading {rest.rpartition('/')[2]}"
    if line.startswith("Installing collected packages"):
        return f"installing {line.count(',') + 1} packages"
    return "the index does not answer, trying again" if line.startswith("WARNING: Retrying") else ""


def _why(lines: list[str]) -> str:
    """Make one sentence of a failed installation: pip's last error and what to do about it."""
    text = "\n".join(lines)
    if "ResolutionImpossible" in text and (pins := re.findall(r"\(constraint\) (\S+)", text)):
        return f"installing failed: no file of {' or '.join(dict.fromkeys(pins))} that fits this Python was found"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    last = (
        errors[-1] if errors else next((line for line in reversed(lines) if line.strip()), "pip said nothing")
    )
    if "No space left" in text:
        return f"installing failed, the disk is full: {last}"
    if "WARNING: Retrying" in text:
        return (
            "installing failed, the package index could not be reached: --index URL names a mirror, "
            "--wheelhouse DIR a folder of wheels"
        )
    return f"installing failed: {last}"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def runs(command: list[str]) -> bool:
    """Tell whether a command starts and ends well."""
    try:
        return subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _free(port: int) -> bool:
    with socket.socket() as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _has_display() -> bool:
    if platform.system() != "Linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
