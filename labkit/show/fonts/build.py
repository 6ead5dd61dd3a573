"""Make the lab's font anew: `python -m labkit.show.fonts.build`, after a new Chinese character is shown.

Collects every character of the visible strings (the table in text.py, every notebook, every exercise, the
string literals of the plotting code), keeps those glyphs of Noto Sans SC and drops the rest. The same input
gives the same bytes. Needs fontTools (matplotlib brings it) and the PyPI package `pylopdf-fonts-zh-cn`,
which carries the original font under the SIL Open Font License; `--source FILE.otf` takes another copy of
it.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from labkit.show.fonts import CHARACTERS, FAMILY, FONT

ROOT = Path(__file__).resolve().parents[3]
SHOW = Path(__file__).resolve().parents[1]
NOTEBOOK_FOLDERS = ("notebooks", "exercises", "solutions")

# Always in, whatever the strings say: printable ASCII, the chapter's symbols, full-width punctuation.
ALWAYS = (
    "".join(map(chr, range(0x20, 0x7F)))
    + "ΔΣΩαβγδεζηθλμνπρστφω"
    + "±·×÷−≈≠≤≥→←↑↓…—–‘’“”°²³½∑√∞▲▼●■□◆✓①②③④⑤⑥⑦⑧⑨"
    + "　、。《》「」『』【】〈〉！（），：；？～￥％"
)


def literals(source: str) -> Iterator[str]:
    """The string literals of a Python module, its docstrings left out."""
    tree = ast.parse(source)
    bodies = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    firsts = (node.body[0] for node in ast.walk(tree) if isinstance(node, bodies) and node.body)
    docstrings = {id(first.value) for first in firsts if isinstance(first, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def visible(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """(where, text) of every string that a plot may show: the lab's code, its notebooks, its exercises."""
    for path in sorted(SHOW.rglob("*.py")):
        if path.parent != FONT.parent:
            yield path.name, "".join(literals(path.read_text(encoding="utf-8")))
    for folder in NOTEBOOK_FOLDERS:
        for path in sorted((root / folder).rglob("*.ipynb")):
            if ".ipynb_checkpoints" in path.parts:
                continue
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            yield path.name, "".join("".join(cell["source"]) for cell in cells)


def is_chinese(character: str) -> bool:
    """Whether this is a CJK character or CJK punctuation, which matplotlib's own font lacks."""
    return "\u3000" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef"


def wanted(root: Path = ROOT) -> str:
    """The characters that the font has to hold, sorted: all visible Chinese, and those that are always in."""
    seen = {c for _, text in visible(root) for c in text if is_chinese(c)}
    return "".join(sorted(seen | set(ALWAYS)))


def missing(root: Path = ROOT) -> dict[str, str]:
    """Visible Chinese that the committed font lacks: file name to characters; empty when it is up to date."""
    have = set(CHARACTERS.read_text(encoding="utf-8"))
    gaps = {name: "".join(sorted({c for c in text if is_chinese(c)} - have)) for name, text in visible(root)}
    return {name: gap for name, gap in gaps.items() if gap}


def subset(source: Path, characters: str) -> tuple[bytes, str]:
    """The font with these characters only, renamed, and those of them that the source really has."""
    from fontTools import subset as tool
    from fontTools.ttLib import TTFont

    font = TTFont(source, recalcTimestamp=False)
    has = font.getBestCmap()
    kept = "".join(c for c in characters if ord(c) in has)
    options = tool.Options(layout_features=[], hinting=False, notdef_outline=True, recalc_timestamp=False)
    options.name_IDs = ["*"]
    options.drop_tables += ["DSIG", "BASE", "VORG", "vhea", "vmtx", "GPOS", "GSUB", "GDEF"]
    cutter = tool.Subsetter(options)
    cutter.populate(text=kept)
    cutter.subset(font)
    rename(font)
    out = io.BytesIO()
    font.save(out, reorderTables=True)
    return out.getvalue(), kept


def rename(font: object) -> None:
    """Give the subset a name of its own: it is not the full font, and it must not hide an installed one."""
    plain = FAMILY.replace(" ", "")
    for record in font["name"].names:  # type: ignore[index]
        if record.nameID in (1, 4, 16):
            record.string = FAMILY
        elif record.nameID == 3:
            record.string = f"{plain}-Regular;subset of Noto Sans SC 2.004"
        elif record.nameID == 6:
            record.string = f"{plain}-Regular"
    top = font["CFF "].cff  # type: ignore[index]
    top.fontNames = [f"{plain}-Regular"]
    top[0].FullName, top[0].FamilyName = f"{FAMILY} Regular", FAMILY


def packaged_source() -> Path:
    """The original Noto Sans SC in the installed package that carries it."""
    from importlib.util import find_spec

    spec = find_spec("pylopdf_fonts_zh_cn")
    if spec is None or spec.origin is None:
        raise SystemExit(
            "no source font: pip install pylopdf-fonts-zh-cn, or give --source NotoSansSC-Regular.otf"
        )
    return Path(spec.origin).with_name("NotoSansSC-Regular.otf")


def main(arguments: list[str] | None = None) -> int:
    """Build the font and its list of characters; with `--check` only say what the committed font lacks."""
    parser = argparse.ArgumentParser(prog="python -m labkit.show.fonts.build", description=main.__doc__)
    parser.add_argument("--source", type=Path, help="Noto Sans SC Regular as an OpenType file")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 if characters are missing"
    )
    options = parser.parse_args(arguments)
    if options.check:
        gaps = missing()
        for name, gap in gaps.items():
            print(f"{name}: the font lacks {gap}", file=sys.stderr)
        return 1 if gaps else 0
    data, kept = subset(options.source or packaged_source(), wanted())
    FONT.write_bytes(data)
    lines = "\n".join(kept[i : i + 60] for i in range(0, len(kept), 60))
    CHARACTERS.write_text(lines + "\n", encoding="utf-8", newline="\n")
    print(f"{FONT.name}: {len(kept)} characters, {len(data):,} bytes")
    lacking = set(wanted()) - set(kept)
    if lacking:
        print(f"not in the source font: {''.join(sorted(lacking))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
