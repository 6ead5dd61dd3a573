"""From key to pixels of the stepper, beside `interact` with a new inline figure, in one JupyterLab and one Chromium.

A probe in the page notes when a key goes down and, after each paint, which step is to be seen: the stepper says it
of itself, the figure carries it in the colour of its corner. Keys of both kinds go down in turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import timing

KEYS = 40  # on the stepper in a repeat; a tenth of it on `interact`, which is slower
AIMS = {"median": 17, "p95": 33}
AIM_RATIO = 20
NEEDS = "it needs playwright and Chromium: `python3 -m labkit test` gets both"
SCENARIO = {
    "schema": "labkit.scenario/1",
    "budget": {"tokens": 8, "seats": 3},
    "cost": {"kind": "linear", "fixed": 0.01, "per_token": 0.001},
    "requests": [
        {"id": f"r{at}", "arrival": at / 50, "prompt_tokens": 4, "output_tokens": 14 + at, "prefilled": True}
        for at in range(9)
    ],
}
STEPPER = f"import labkit\nrun = labkit.run({SCENARIO!r})\nlabkit.replay(run)"
# What a page does without the stepper: at each step the kernel draws and sends a new figure of the same content: the
# seats so far with names, the map of the pages, the sentence.
FIGURE = """%matplotlib inline
%config InlineBackend.print_figure_kwargs = {"bbox_inches": None}
import matplotlib.pyplot as plt
from ipywidgets import IntSlider, interact
from labkit.show.figures.lanes import cells
from labkit.show.replay.frames import frames
from labkit.show.replay.sentences import Teller
seats = cells(run.result, 3)
limits, found = frames(run.journal)
teller = Teller(limits, "en")
def draw(step):
    figure, (above, below) = plt.subplots(2, 1, figsize=(11, 4.5), height_ratios=[2, 1], layout="constrained")
    for cell in (each for each in seats if each.round <= step):
        start, width = float(cell.start), float(cell.end - cell.start)
        above.barh(cell.lane, width, left=start, color=f"C{int(cell.id[1:]) % 10}", edgecolor="white")
        above.text(start, cell.lane, cell.id)
    above.set(xlim=(0, 600), yticks=range(3), xlabel="ms")
    for at, cell in enumerate(found[step].cells):
        below.add_patch(plt.Rectangle((at % 32, at // 32), 0.9, 0.9, color=f"C{int(cell.top[0][1:]) % 10}"
                                      if cell.top else "none", ec="grey"))
    below.set(xlim=(0, 32), ylim=(0, 8), xticks=[], yticks=[])
    figure.suptitle(teller.sentence(found[step]), fontsize=8, wrap=True)
    color = (4 * step / 255, 1 - 4 * step / 255, 128 / 255)
    figure.add_artist(plt.Rectangle((0, 0), 0.03, 0.06, transform=figure.transFigure, color=color))
    plt.show()
interact(draw, step=IntSlider(0, 0, 59))"""
PROBE = """() => {
  const probe = window.probe = {down: 0, seen: null, at: 0}, one = document.createElement('canvas');
  one.width = one.height = 1;
  const brush = one.getContext('2d', {willReadFrequently: true});
  const figure = () => {
    for (const image of document.querySelectorAll('.jp-OutputArea-output img')) {
      if (!image.complete || image.naturalWidth < 300) continue;
      brush.drawImage(image, 8, image.naturalHeight - 8, 1, 1, 0, 0, 1, 1);
      const [red, , blue] = brush.getImageData(0, 0, 1, 1).data;
      if (blue === 128) return Math.round(red / 4);
    }
    return null;
  };
  probe.read = {stepper: () => Number(document.querySelector('.labkit-replay').dataset.step), figure};
  document.addEventListener('keydown', () => { probe.down = performance.now(); }, true);
  probe.wait = (what, step) => new Promise((done) => {
    const look = () => {
      if (probe.read[what]() !== step) { requestAnimationFrame(look); return; }
      // A message that is sent while a frame is made arrives when it has been painted.
      const {port1, port2} = new MessageChannel();
      port1.onmessage = () => done(performance.now() - probe.down);
      port2.postMessage(0);
    };
    requestAnimationFrame(look);
  });
}"""
RUN_ALL = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  await window.jupyterapp.commands.execute('notebook:run-all-cells');
}"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PATIENCE = 90


@contextlib.contextmanager
def lab(home: Path) -> Iterator[str]:
    """A JupyterLab on the loopback that serves `home`, with settings of its own; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "IPYTHONDIR": "ipython",
    }
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        f"--ServerApp.root_dir={home}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    environment = {key: str(home / folder) for key, folder in folders.items()}
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        env={**os.environ, **environment, "PYTHONPATH": str(timing.ROOT)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, server)
        yield address
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(15)
        server.kill()


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/api/status", timeout=5):
            return
        time.sleep(0.1)
    raise RuntimeError("JupyterLab did not start")


def measure(repeats: int, keys: int = KEYS) -> dict[str, Any]:
    """Milliseconds from key to pixels: median and 95th percentile of each kind, and the ratio of the medians.

    `left_out` says why where it can't be measured.
    """
    from labkit.testing import find_chromium

    chromium = find_chromium()
    if chromium is None or find_spec("playwright") is None:
        return {"left_out": NEEDS}
    from playwright.sync_api import sync_playwright

    took: dict[str, list[float]] = {"stepper": [], "figure": []}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        cells = [
            {
                "cell_type": "code",
                "id": f"c{at}",
                "source": source,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for at, source in enumerate((STEPPER, FIGURE))
        ]
        spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": spec}, "cells": cells}
        (home / "bench.ipynb").write_text(json.dumps(book), encoding="utf-8", newline="\n")
        with lab(home) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 1400})
            page.set_default_timeout(60_000)
            page.goto(f"{address}/lab/workspaces/bench/tree/bench.ipynb?reset", wait_until="domcontentloaded")
            page.wait_for_function("window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell')")
            page.evaluate(RUN_ALL)
            page.evaluate(PROBE)
            page.wait_for_function(
                "document.querySelector('.labkit-replay[data-step]') && probe.read.figure() === 0"
            )
            for repeat in range(repeats):
                took["stepper"] += _press(page, "stepper", ".labkit-replay input", keys, 120, repeat == 0)
                took["figure"] += _press(page, "figure", ".noUi-handle", max(2, keys // 10), 600, repeat == 0)
            browser.close()
    found = {what: _spread(each) for what, each in took.items()}
    return {**found, "ratio": found["figure"]["median"] / found["stepper"]["median"]}


def _press(page: Any, what: str, control: str, keys: int, pause_ms: int, first: bool) -> list[float]:
    """Press a key so many times, each after the last is to be seen; the first of all is left out."""
    page.locator(control).first.focus()
    page.keyboard.press("Home")
    page.evaluate("([what, step]) => probe.wait(what, step)", [what, 0])
    took = []
    for step in range(1, keys + 1 + first):
        page.wait_for_timeout(pause_ms)
        waiting = page.evaluate_handle("([what, step]) => ({done: probe.wait(what, step)})", [what, step])
        page.keyboard.press("ArrowRight")
        took.append(page.evaluate("async (waiting) => await waiting.done", waiting))
    return took[first:]


def _spread(took: list[float]) -> dict[str, float]:
    ordered = sorted(took)
    at = min(len(ordered) - 1, int(0.95 * len(ordered)))
    return {"keys": len(took), "median": statistics.median(took), "p95": ordered[at], "max": ordered[-1]}


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text."""
    if "left_out" in result:
        return [f"left out: {result['left_out']}"]
    names = {"stepper": "the stepper", "figure": "`interact`, a new inline figure"}
    rows = [["key to pixels, ms", "median", "95th percentile", "greatest", "keys"]]
    for what, name in names.items():
        found = result[what]
        rows.append([name, *(f"{found[key]:.1f}" for key in ("median", "p95", "max")), str(found["keys"])])
    return [
        *timing.columns(rows),
        f"aim: median {AIMS['median']} ms, 95th percentile {AIMS['p95']} ms",
        f"`interact` takes {result['ratio']:.1f} times as long (aim: {AIM_RATIO})",
    ]
