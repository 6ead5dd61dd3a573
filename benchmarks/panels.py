"""How quickly a panel answers: the kernel's part alone, and from key to pixels in a real JupyterLab and Chromium.

The peer is `ipywidgets.interact` with the same picture as a new inline figure a move, measured in the same run. Without
Chromium only the kernel's part is measured. `python -m benchmarks.panels` runs it alone.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import timing

AIMS = {"kernel_ms": 20, "key_to_pixels_ms": 75, "key_to_pixels_p95_ms": 180, "of_interact": 5}
PRESSES = 20  # a repeat: to the right from one end of the slider
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
)

SETUP = """
import labkit
from labkit import show

files = {name: labkit.load(f"x1_{name}").document() for name in ("static", "continuous")}


def both(one_ms, two_ms):
    cost = {"kind": "table", "seconds": {"1": one_ms / 1000, "2": two_ms / 1000}}
    return {name: labkit.run({**file, "cost": cost}) for name, file in files.items()}
"""
PEER = """
import functools
import io

import ipywidgets
from IPython.display import Image, display
from labkit.show.figures.round_times import round_times
from labkit.show.panels.round_times import AT

cached = functools.lru_cache(both)


def peer(two=1):
    out = io.BytesIO()
    round_times(cached, 6, two, AT).savefig(out, format="png")
    display(Image(out.getvalue(), width=768))


ipywidgets.interact(peer, two=(1, 40))
"""
CELLS = {"panel": SETUP + "\nshow.round_times(both)", "interact": PEER}

# Notes when a key goes down and when the next picture that came after it has been painted.
PROBE = """() => {
  window.__down = null; window.__lags = []; window.__seen = null;
  document.addEventListener('keydown', () => { window.__down = performance.now(); }, true);
  document.addEventListener('load', (event) => {
    const image = event.target;
    if (image.tagName !== 'IMG' || image.naturalWidth < 300 || window.__down === null) return;
    const down = window.__down;
    requestAnimationFrame(() => setTimeout(() => {
      if (window.__down === down) { window.__lags.push(performance.now() - down); window.__down = null; }
    }, 0));
  }, true);
}"""
RUN = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready; await panel.sessionContext.ready; await panel.sessionContext.session.kernel.info;
  await window.jupyterapp.commands.execute('notebook:run-all-cells');
}"""
SLIDERS = {"panel": "input.labkit-panel-range >> nth=1", "interact": ".noUi-handle >> nth=0"}


def measure(repeats: int) -> dict[str, Any]:
    """Kernel milliseconds of the page's panels; with Chromium also key to pixels, and the ratio to `interact`."""
    found: dict[str, Any] = {"aims": AIMS, "kernel_ms": _kernel(repeats)}
    chromium = _chromium()
    if chromium is None:
        return {**found, "left_out": "key to pixels: no Chromium was found"}
    with tempfile.TemporaryDirectory() as folder, _lab(Path(folder)) as address:
        lags = _keys(address, chromium, repeats)
    found["key_to_pixels_ms"] = {name: _summary(values) for name, values in lags.items()}
    medians = (statistics.median(lags["interact"]), statistics.median(lags["panel"]))
    found["of_interact"] = medians[0] / medians[1]
    return found


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text, aims beside."""
    rows = [["panel", "median ms", "95 % ms", "least to greatest", "aim"]]
    for name, one in result["kernel_ms"].items():
        rows.append([f"kernel, {name}", *_cells(one), f"{AIMS['kernel_ms']}"])
    aim = f"{AIMS['key_to_pixels_ms']} / {AIMS['key_to_pixels_p95_ms']}"
    for name, one in result.get("key_to_pixels_ms", {}).items():
        rows.append([f"key to pixels, {name}", *_cells(one), aim if name == "panel" else ""])
    text = timing.columns(rows)
    if "of_interact" in result:
        text.append(f"`interact` takes {result['of_interact']:.1f} times as long (aim {AIMS['of_interact']})")
    return [*text, *([f"left out: {result['left_out']}"] if "left_out" in result else [])]


def _cells(one: dict[str, float]) -> list[str]:
    return [f"{one['median']:.1f}", f"{one['p95']:.1f}", f"{one['min']:.1f} to {one['max']:.1f}"]


def _summary(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        **timing.spread(ordered),
        "p95": ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))],
        "n": len(ordered),
    }


# ---------------------------------------------------------------- the kernel's part


def _kernel(repeats: int) -> dict[str, dict[str, float]]:
    """Each panel moved along one slider, first as met the first time (it runs the engine), then once more."""
    from labkit.show.panels.widget import PanelWidget

    names: dict[str, Any] = {}
    exec(SETUP, names)
    found = {}
    for slider in ("one", "two"):
        for again in ("first time", "again"):
            found[f"{slider}, {again}"] = []
    for _ in range(repeats):
        widget = PanelWidget(names["show"].round_times(names["both"]))
        serial = 0
        for slider, values in (("two", range(1, 41)), ("one", range(1, 16))):
            for again in ("first time", "again"):
                for value in values:
                    serial += 1
                    widget.asked = {"serial": serial, "values": {"one": 6, "two": 10, slider: value}}
                    found[f"{slider}, {again}"].append(widget.kernel_ms)
    return {name: _summary(values) for name, values in found.items()}


# ---------------------------------------------------------------- key to pixels


def _chromium() -> str | None:
    from labkit.testing import find_chromium

    try:
        import playwright  # noqa: F401
    except ImportError:
        return None
    return find_chromium()


def _keys(address: str, chromium: str, repeats: int) -> dict[str, list[float]]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        pages = {}
        for name in CELLS:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(90_000)
            page.goto(
                f"{address}/lab/workspaces/{name}/tree/{name}.ipynb?reset", wait_until="domcontentloaded"
            )
            page.wait_for_function("window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell')")
            page.evaluate(RUN)
            page.locator(SLIDERS[name]).wait_for(state="visible")
            page.evaluate(PROBE)
            pages[name] = page
        steps: dict[str, Callable[[], list[float]]] = {
            name: (lambda page=page, name=name: _presses(page, SLIDERS[name])) for name, page in pages.items()
        }
        found = timing.interleaved(steps, repeats)
        browser.close()
    return {name: [lag for lags in each for lag in lags] for name, each in found.items()}


def _presses(page: Any, slider: str) -> list[float]:
    page.bring_to_front()
    page.locator(slider).focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(1500)
    page.evaluate("window.__down = null; window.__lags = []")
    for count in range(1, PRESSES + 1):
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"window.__lags.length >= {count}", timeout=20_000)
        page.wait_for_timeout(120)
    lags: list[float] = page.evaluate("window.__lags")
    return lags


@contextmanager
def _lab(home: Path) -> Iterator[str]:
    """A JupyterLab of its own, with a notebook for each of `CELLS`."""
    for name, source in CELLS.items():
        (home / f"{name}.ipynb").write_text(
            json.dumps(_notebook(name, source)), encoding="utf-8", newline="\n"
        )
    kept = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    environment = {
        **os.environ,
        **{f"JUPYTER_{name}": str(home / name.lower()) for name in kept},
        **{f"JUPYTERLAB_{name}_DIR": str(home / name.lower()) for name in ("SETTINGS", "WORKSPACES")},
        "IPYTHONDIR": str(home / "ipython"),
        "PYTHONPATH": str(timing.ROOT),
    }
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = (
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--IdentityProvider.token=",
    )
    options += (
        "--ServerApp.disable_check_xsrf=True",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.news_url=",
    )
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options, f"--ServerApp.root_dir={home}"],
        env=environment, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _await(server, f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _notebook(name: str, source: str) -> dict[str, Any]:
    parts = {"panel": [source], "interact": [SETUP, source]}[name]
    cells = [
        {
            "cell_type": "code",
            "id": f"{name}-{i}",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": part,
        }
        for i, part in enumerate(parts)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


def _await(server: subprocess.Popen[bytes], address: str, patience: float = 90) -> None:
    until = time.monotonic() + patience
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/api/status", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("JupyterLab did not start")


if __name__ == "__main__":
    print("\n".join(lines(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3))))
