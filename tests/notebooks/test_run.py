"""Every page runs from its top to its end, twice, with torch and without, and shows the ledger's numbers."""

import copy
import os
import re
from importlib.util import find_spec

import nbformat
import pytest
from nbclient import NotebookClient

from labkit.bootstrap import ROOT

PATIENCE = 300  # seconds for one cell: a limit that says "stuck", not "slow"

# Cell to what its output must hold: the numbers of the ledger.
EXPECTED = {
    "00_start.ipynb": {
        "start-run": ["A 40 ms、B 10 ms、C 50 ms", "A 40 ms、B 10 ms、C 20 ms"],
        "start-table": ["100/3", "70/3"],
    },
    "31_2_continuous_batching.ipynb": {
        "x1-guess": ["先猜：静态批处理下，三个请求平均多少毫秒完成？"],
        "x1-run": [
            "静态  40  10  50  100/3 ≈ 33.33 ms  50 ms  6/10",
            "连续  40  10  20  70/3 ≈ 23.33 ms  40 ms  6/8",
        ],
        "x1-mean": ["{'静态': Fraction(100, 3), '连续': Fraction(70, 3)}"],
        "f31-1-timeline": ["A 40 ms、B 10 ms、C 50 ms", "A 40 ms、B 10 ms、C 20 ms"],
        "loop-check": ["{'静态': True, '连续': True}"],
        "n14-check": ["'中途入座': 0, '中途离开': 0"],
        "n14-operators": ["{'线性层': True, '注意力': False}"],
        "c07-held": [
            "{'A': Fraction(40, 1), 'B': Fraction(40, 1), 'C': Fraction(50, 1)}",
            "Fraction(130, 3)",
        ],
        "c07-seats": ["{'静态': (6, 10), '连续': (6, 8)}"],
        "c07-variant": ["静态，空算  40  10  50  100/3"],
        "order-run": ["静态  10  10  50  70/3", "连续  10  10  50  70/3"],
        "order-all": ["'ABC': Fraction(10, 1)", "'BCA': Fraction(0, 1)", "'CBA': Fraction(0, 1)"],
        "q31-2-run": [
            "静态  28  10  34  24 ms",
            "静态，空算  40  10  46  32 ms",
            "静态，空算并补满两座  40  10  50  100/3",
            "连续  32  10  20  62/3",
        ],
        "c08-panel": ["请求 A t₂ = 6 ms、全部完成 t₂ = 12 ms、平均 t₂ = 15 ms"],
        "c08-solve": ["(t1, 2*t1, 5*t1/2)"],
        "breaks-run": ["静态  36  18  42  32 ms", "连续  48  18  36  34 ms"],
        "n22-ranking": ["28  82/3 ≈ 27.33  38  40", "34  44  56  62"],
        "aha-exact": ["{2: '66.8%', 8: '36.9%', 32: '24.7%', 128: '18.5%'}"],
        "aha-harmonic": ["{2: True, 3: True, 8: True}"],
        "e31-3-formula": ["(Fraction(1, 2), Fraction(3, 8))"],
        "e31-3-count": ["(0.5, 0.375)"],
        "e31-3-ratios": ["只有线性层  7.68  3.84  0.5000", "0.3755"],
        "c10-panel": ["等待上限 100 ms、最大批量 8：每秒 2 个请求"],
        "carry": ["(Fraction(10, 1), 0.366)"],
    },
}

BLOCK_TORCH = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("torch is blocked in this test", name=name)

sys.meta_path.insert(0, Block())
"""

# Where torch is not installed, a page that runs with torch blocked has been run as it is.
BEFORE = {"torch-blocked": BLOCK_TORCH} | ({"as-it-is": ""} if find_spec("torch") else {})


def run(path, before, folder):
    """Run a copy of the notebook, its cells twice over, in a fresh kernel; return the outputs of both passes."""
    book = nbformat.reads(path.read_text(encoding="utf-8"), as_version=nbformat.NO_CONVERT)
    own = [cell for cell in book.cells if cell.cell_type == "code"]
    again = copy.deepcopy(own)
    for cell in again:
        cell.id = f"again-{cell.id}"
    head = [nbformat.v4.new_code_cell(before)] if before else []
    book.cells = [*head, *own, *again]
    # Other packages open files without naming an encoding; that is not the page's output.
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONWARNDEFAULTENCODING"}
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**inherited, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    client = NotebookClient(
        book, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=environment)
    return {cell.id: cell.outputs for cell in own}, {cell.id: cell.outputs for cell in again}


def words(outputs):
    """What the outputs say, without what differs from run to run."""
    told = "\n".join(out.get("text", "") + out.get("data", {}).get("text/plain", "") for out in outputs)
    return re.sub(r"0x[0-9a-f]+", "0x…", told)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_the_page_runs_twice_and_says_the_same(path, before, tmp_path):
    first, second = run(path, before, tmp_path)
    for id_, outputs in first.items():
        kinds = {out.output_type for out in outputs}
        assert not kinds & {"error", "stream"}, f"{id_}: {words(outputs)}"
        assert words(second[f"again-{id_}"]) == words(outputs), id_
    for id_, texts in EXPECTED.get(path.name, {}).items():
        said = words(first[id_])
        for text in texts:
            assert text in said, f"{id_}: {text!r} not in {said!r}"
