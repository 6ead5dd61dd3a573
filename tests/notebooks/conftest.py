"""The notebooks of the book, as files."""

from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"


def pytest_generate_tests(metafunc):
    """Give each test that asks for a `path` every notebook in turn, under the notebook's name."""
    if "path" in metafunc.fixturenames:
        paths = sorted(p for p in FOLDER.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
        metafunc.parametrize("path", paths, ids=[p.relative_to(FOLDER).as_posix() for p in paths])
    if "notebook" in metafunc.fixturenames:
        paths = sorted(p for p in FOLDER.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
        books = [nbformat.reads(p.read_text(encoding="utf-8"), as_version=nbformat.NO_CONVERT) for p in paths]
        metafunc.parametrize("notebook", books, ids=[p.relative_to(FOLDER).as_posix() for p in paths])
