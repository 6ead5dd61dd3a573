"""`python -m labkit test`: every check of the repository under one closing line.

The line has pytest's own form, so that whoever reads pytest's result reads this one: each static check counts as
one test. In CI the suite runs a second time, with few random examples, where the system's encoding is not UTF-8
and each text file that is opened without naming its encoding is an error.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from xml.etree import ElementTree

from labkit import bootstrap
from labkit.bootstrap import ROOT, Environment

EXTRAS = ("test", "grade")
CHECKS = {
    "ruff check": ["-m", "ruff", "check"],
    "ruff format --check": ["-m", "ruff", "format", "--check"],
    "lint-imports": ["-c", "from importlinter.cli import lint_imports_command as run; run()"],
    "mypy --strict": ["-m", "mypy"],
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ASK_PLAYWRIGHT = (
    "from playwright.sync_api import sync_playwright\n"
    "with sync_playwright() as p: print(p.chromium.executable_path)"
)


class Tally:
    """What passed, failed and was skipped so far, with names."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self.skipped: list[str] = []

    def add(self, name: str, good: bool) -> None:
        """Count one check."""
        if good:
            self.passed += 1
        else:
            self.failed.append(name)

    def read(self, report: Path, status: int) -> None:
        """Count what pytest wrote down; a run that broke off or found no test has failed."""
        before = len(self.failed)
        try:
            cases = list(ElementTree.parse(report).iter("testcase"))
        except (OSError, ElementTree.ParseError):
            cases = []
        for case in cases:
            name = f"{case.get('classname', '')}::{case.get('name', '')}".removeprefix("::")
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed.append(name)
            elif skip is not None and skip.get("type") != "pytest.xfail":
                self.skipped.append(f"{name}: {skip.get('message', '')}")
            else:
                self.passed += 1
        if status and len(self.failed) == before:
            reason = "found no test" if status == 5 else f"ended with status {status}"
            self.failed.append(f"pytest {reason}")

    def closing(self, seconds: float) -> str:
        """Return the last line, in the form in which pytest closes."""
        counts = {"failed": len(self.failed), "passed": self.passed, "skipped": len(self.skipped)}
        text = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        clock = f" ({int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02})"
        return f" {text} in {seconds:.2f}s{clock if seconds >= 60 else ''} ".center(80, "=")


def main(argv: list[str]) -> int:
    """Install what the tests need, run all checks, print one closing line; 0 if nothing failed."""
    options = bootstrap.parser(
        "test",
        "Run every check: ruff, import-linter, mypy and pytest. With pytest arguments only pytest runs, with them.",
    )
    options.add_argument("--all", action="store_true", help="add the tests marked long and what only CI runs")
    given, rest = options.parse_known_args(argv)
    signal.signal(signal.SIGTERM, _stop)
    started = time.monotonic()
    python = str(Environment().prepare(EXTRAS, given))
    chromium = provide(python)
    variables = {"LABKIT_CHROMIUM": chromium} if chromium else {}
    tally = Tally()
    if not rest:
        for name, arguments in CHECKS.items():
            _check(tally, name, [python, *arguments])
    _pytest(tally, python, [] if given.all else ["-m", "not long"], rest, variables)
    if not rest and (given.all or in_ci()):
        print("labkit: once more where text is not UTF-8 by default", flush=True)
        variables |= {
            "PYTHONIOENCODING": "gbk",
            "PYTHONWARNDEFAULTENCODING": "1",
            "LABKIT_EXAMPLES": "few",
        }
        _pytest(tally, python, ["-m", "not long and not browser and not sandbox"], rest, variables)
    for title, names in (("skipped", tally.skipped), ("FAILED", tally.failed)):
        for name in names:
            print(f"{title} {name}")
    print(tally.closing(time.monotonic() - started), flush=True)
    return 1 if tally.failed else 0


def in_ci() -> bool:
    """Tell whether this is a run where a test that was skipped for want of a tool is a failure."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def find_chromium(python: str = sys.executable) -> str | None:
    """Return a Chromium that starts: LABKIT_CHROMIUM, one on the path, or playwright's own."""
    if named := os.environ.get("LABKIT_CHROMIUM"):
        return named
    # Only where `--version` opens no window: a name alone may be a stub that asks for a snap.
    for name in BROWSERS if os.name == "posix" else ():
        if (path := shutil.which(name)) and bootstrap.runs([path, "--version"]):
            return path
    asked = subprocess.run(
        [python, "-c", ASK_PLAYWRIGHT], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    path = asked.stdout.strip()
    return path if path and Path(path).exists() else None


def provide(python: str) -> str | None:
    """Get Chromium and bubblewrap where they are missing and this system lets us; return Chromium's path.

    What cannot be had is said here, and the tests that need it are reported by name.
    """
    chromium, bubblewrap = find_chromium(python), shutil.which("bwrap")
    if sys.platform == "linux" and os.geteuid() == 0 and shutil.which("apt-get"):
        missing = ["chromium"] * (chromium is None) + ["bubblewrap"] * (bubblewrap is None)
        if missing:
            print(f"labkit: getting {' and '.join(missing)} with apt-get", flush=True)
            _tool(["apt-get", "update"])
        for package in missing:
            _tool(["apt-get", "install", "-y", "--no-install-recommends", package])
        chromium, bubblewrap = chromium or find_chromium(python), shutil.which("bwrap")
    if chromium is None:
        print("labkit: getting Chromium with playwright", flush=True)
        _tool([python, "-m", "playwright", "install", "chromium"])
        chromium = find_chromium(python)
    if chromium is None:
        print("labkit: there is no Chromium; the tests marked browser cannot run")
    if bubblewrap is None:
        print("labkit: there is no bubblewrap (bwrap); the tests marked sandbox cannot run")
    return chromium


def _tool(command: list[str]) -> None:
    """Run an installing tool; that it failed is seen by what is still missing afterwards."""
    log = Environment().folder / "labkit-tools.log"
    bootstrap.follow(command, log, lambda line: line, {"DEBIAN_FRONTEND": "noninteractive"})


def _check(tally: Tally, name: str, command: list[str]) -> None:
    started = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    tally.add(name, done.returncode == 0)
    print(f"{name}: {'FAILED' if done.returncode else 'ok'} ({time.monotonic() - started:.1f} s)", flush=True)
    if done.returncode:
        print(done.stdout, flush=True)


def _pytest(tally: Tally, python: str, marks: list[str], rest: list[str], variables: dict[str, str]) -> None:
    """Run pytest with its output shown as it comes and its report added to the tally."""
    count = min(2, os.cpu_count() or 1)
    if "PYTHONIOENCODING" in variables and not str(ROOT).isascii():
        count = 0  # xdist tells its workers their folder in UTF-8, and they would read it in another encoding
    workers = ["-n", str(count), "--dist", "loadfile"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [python, "-m", "pytest", *workers, *marks, f"--junitxml={report}", *rest]
        status = subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, check=False).returncode
        tally.read(report, status)


def _stop(number: int, _: FrameType | None) -> None:
    """End on SIGTERM as on an exception, so that running children are ended too."""
    sys.exit(128 + number)
