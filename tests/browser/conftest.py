"""A real JupyterLab on the loopback and a real Chromium before it; both end with the tests."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
RUN_ALL = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  await window.jupyterapp.commands.execute('notebook:run-all-cells');
}"""
OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .filter((cell) => cell.model.type === 'code')
  .map((cell) => ({id: cell.model.id, count: cell.model.executionCount, outputs: cell.model.outputs.toJSON()}))"""
SHOW_CELL = """async (id) => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  const index = notebook.widgets.findIndex((cell) => cell.model.id === id);
  notebook.activeCellIndex = index;
  await notebook.scrollToItem(index, 'center');
}"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """Return the address of a JupyterLab that serves copies of the notebooks, with settings of its own."""
    home = tmp_path_factory.mktemp("lab")
    served = home / "notebooks"
    shutil.copytree(ROOT / "notebooks", served, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    folders = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "IPYTHONDIR": home / "ipython",
        "MPLCONFIGDIR": home / "matplotlib",
    }
    news = (
        folders["JUPYTERLAB_SETTINGS_DIR"] / "@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    )
    news.parent.mkdir(parents=True)
    news.write_text('{"fetchNews": "false", "checkForUpdates": false}', encoding="utf-8", newline="\n")
    port = free_port()
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        f"--ServerApp.root_dir={home}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    with open(home / "lab.log", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            env={**os.environ, **{k: str(v) for k, v in folders.items()}, "PYTHONPATH": str(ROOT)},
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            await_server(server, address, home / "lab.log")
            yield address
        finally:
            server.terminate()
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def await_server(server, address, log, patience=90):
    until = time.monotonic() + patience
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/api/status", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(
        f"JupyterLab did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}"
    )


@pytest.fixture(scope="session")
def browser(chromium):
    """Return a headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield opened
        opened.close()


class Notebook:
    """A notebook that is open in the browser."""

    def __init__(self, page):
        self.page = page
        self.strangers = []  # addresses outside this machine that something asked for
        self.complaints = []  # errors that the page wrote to its console
        page.on("request", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, request):
        local = request.url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "blob:", "data:"))
        if not local:
            self.strangers.append(request.url)

    def open(self, address):
        self.page.goto(address, wait_until="domcontentloaded")
        ready = "window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell')"
        self.page.wait_for_function(ready, timeout=60_000)
        return self

    def run_all(self):
        """Run every cell and return the code cells' outputs: id to list."""
        self.page.evaluate(RUN_ALL)
        cells = self.page.evaluate(OUTPUTS)
        assert all(cell["count"] for cell in cells), "some cell did not run"
        return {cell["id"]: cell["outputs"] for cell in cells}

    def show_cell(self, id_):
        self.page.evaluate(SHOW_CELL, id_)


@pytest.fixture(scope="session")
def notebook_class():
    """Return the class of open notebooks, for tests that share one."""
    return Notebook


@pytest.fixture
def notebook(lab, browser):
    """Return a function that opens a notebook by name in a browser window of its own."""
    contexts = []

    def open_notebook(name, width=1280, height=720):
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        context.set_default_timeout(60_000)
        return Notebook(context.new_page()).open(
            f"{lab}/lab/workspaces/{name}/tree/notebooks/{name}.ipynb?reset"
        )

    yield open_notebook
    for context in contexts:
        context.close()
