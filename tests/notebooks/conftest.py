"""The notebooks of the book, as files and as cells that are run."""

import ast
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"


def pytest_configure(config):
    config.addinivalue_line("markers", "ledger(*ids): asserts these rows of the chapter's ledger")


class Page:
    """A notebook whose code cells were run in one namespace: `names`, and each cell's last `values` by its id."""

    def __init__(self, name):
        book = nbformat.reads((FOLDER / name).read_text(encoding="utf-8"), as_version=4)
        self.cells = [cell for cell in book.cells if cell.cell_type == "code"]
        self.names, self.values = {"__name__": name}, {}
        for cell in self.cells:
            self.values[cell.id] = self._run(cell)

    def _run(self, cell):
        tree = ast.parse(cell.source, cell.id)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell.id, "exec"), self.names)
        return eval(compile(ast.Expression(last.value), cell.id, "eval"), self.names) if last else None

    def rows(self, id_):
        """The rows of a cell's table, name to cells."""
        return {first: rest for first, *rest in self.values[id_].rows}

    def taught(self):
        """Ledger ids that the cells carry."""
        return {row for cell in self.cells for row in cell.metadata.get("ledger", [])}


@pytest.fixture(scope="session")
def run_page(tmp_path_factory):
    """Return a function that runs a notebook's cells once, in an empty folder, and gives the `Page`."""
    pages = {}

    def run(name):
        if name not in pages:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(tmp_path_factory.mktemp("page"))
                pages[name] = Page(name)
        return pages[name]

    return run


def pytest_generate_tests(metafunc):
    """Give each test that asks for a `path` every notebook in turn, under the notebook's name."""
    if "path" in metafunc.fixturenames:
        paths = sorted(p for p in FOLDER.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
        metafunc.parametrize("path", paths, ids=[p.relative_to(FOLDER).as_posix() for p in paths])
    if "notebook" in metafunc.fixturenames:
        paths = sorted(p for p in FOLDER.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
        books = [nbformat.reads(p.read_text(encoding="utf-8"), as_version=nbformat.NO_CONVERT) for p in paths]
        metafunc.parametrize("notebook", books, ids=[p.relative_to(FOLDER).as_posix() for p in paths])
