"""What every page keeps to: small stable files, small cells, readable ids, Chinese set as Chinese is set."""

import ast
import re
import statistics

import nbformat

LEDGER = re.compile(r"(?:[TF]31\.\d+|E31\.\d+(?:-\d+)?|[XACN]\d+|[CN]\d\d|Q31\.\d+)")
IDS = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
CJK = r"[\u4e00-\u9fff]"


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def sizes(notebook):
    return sorted(sum(1 for line in cell.source.splitlines() if line.strip()) for cell in code(notebook))


def test_the_file_is_valid_and_in_its_one_form(path):
    text = path.read_text(encoding="utf-8")
    book = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    nbformat.validate(book)
    assert (book.nbformat, book.nbformat_minor) == (4, 5)
    assert text == nbformat.writes(book, version=nbformat.NO_CONVERT) + "\n"
    assert "\r" not in text


def test_metadata_is_minimal(notebook):
    assert set(notebook.metadata) == {"kernelspec", "labkit"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.metadata.labkit.language in ("zh", "en")
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"ledger", "tags"}, cell.id


def test_nothing_that_was_run_is_kept(notebook):
    for cell in code(notebook):
        assert cell.outputs == [], cell.id
        assert cell.execution_count is None, cell.id


def test_ids_are_readable_and_unique(notebook):
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert all(IDS.fullmatch(id_) and len(id_) <= 40 and re.search("[a-z]{2}", id_) for id_ in ids), ids


def test_ledger_ids_have_the_ledgers_form(notebook):
    for cell in notebook.cells:
        for id_ in cell.metadata.get("ledger", []):
            assert LEDGER.fullmatch(id_), f"{cell.id}: {id_}"
            assert cell.cell_type == "code", f"{cell.id}: a row is taught where it is computed"


def test_code_cells_are_small(notebook):
    lines = sizes(notebook)
    assert statistics.median(lines) <= 5
    assert lines[int(0.9 * (len(lines) - 1))] <= 12
    assert lines[-1] <= 25


def test_no_cell_defines_a_class_or_is_empty(notebook):
    for cell in notebook.cells:
        assert cell.source.strip(), cell.id
        assert cell.source == cell.source.strip(), cell.id
    for cell in code(notebook):
        nodes = ast.walk(ast.parse(cell.source))
        assert not any(isinstance(node, ast.ClassDef) for node in nodes), cell.id


def test_no_cell_prints_or_silences(notebook):
    for cell in code(notebook):
        called = [node.func for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
        assert not any(isinstance(f, ast.Name) and f.id in ("print", "exec", "eval") for f in called), cell.id
        assert "warnings." not in cell.source, cell.id
        assert not cell.source.lstrip().startswith(("%", "!")), cell.id


def test_the_page_opens_with_one_title(notebook):
    first, *rest = notebook.cells
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert not any(
        re.search(r"^# ", cell.source, re.MULTILINE) for cell in rest if cell.cell_type == "markdown"
    )


def test_links_lead_somewhere(path):
    book = nbformat.reads(path.read_text(encoding="utf-8"), as_version=nbformat.NO_CONVERT)
    for cell in book.cells:
        for target in re.findall(r"\]\(([^)#]+)", cell.source) if cell.cell_type == "markdown" else []:
            assert target.startswith("https://") or (path.parent / target).exists(), f"{cell.id}: {target}"


def prose(notebook):
    """Markdown without code, links' targets and emphasis: id and text."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"```.*?```|`[^`]*`", " ", cell.source, flags=re.DOTALL)
            text = re.sub(r"\]\([^)]*\)", "]", text)
            yield cell.id, re.sub(r"[*_\[\]]", "", text)


def test_chinese_and_latin_stand_one_space_apart(notebook):
    for id_, text in prose(notebook):
        close = re.search(rf"{CJK}[A-Za-z0-9]|[A-Za-z0-9%]{CJK}", text)
        assert not close, f"{id_}: {text[max(0, close.start() - 8) : close.end() + 8]!r}"


def test_chinese_has_full_width_punctuation(notebook):
    for id_, text in prose(notebook):
        half = re.search(rf"{CJK}\s?[,;:!?]|{CJK}\.(?:\s|$)|{CJK}\(|\){CJK}", text)
        assert not half, f"{id_}: {text[max(0, half.start() - 8) : half.end() + 8]!r}"


def test_numbers_and_latin_are_half_width(notebook):
    for id_, text in prose(notebook):
        assert not re.search(r"[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]", text), id_
