"""What students get holds the notebooks and nothing of the solutions."""

import json
import re
import zipfile

import pytest

from labkit.__main__ import main
from labkit.bootstrap import ROOT
from labkit.grade import catalog
from labkit.grade.author import BEGIN, END
from labkit.grade.notebook import read

COMPUTES = re.compile(
    r"[-+*/%<>]|==|\blambda\b|\breturn\b|[\u4e00-\u9fff]{6}"
)  # not names and examples alone
LEAST = 24  # shorter lines of a solution are words of the language, not of the answer


def solution_lines():
    """Lines that stand in reference answers, hidden checks, wrong and right answers, and in no declaration."""
    lines = set()
    for exercise in catalog.exercises().values():
        for cell in read(catalog.source_of(exercise)):
            for region in re.findall(rf"{BEGIN}\n(.*?){END}", cell.source, re.DOTALL):
                lines |= set(map(str.strip, region.split("\n")))
            if cell.id.startswith("explain-"):
                lines |= set(map(str.strip, cell.source.split("\n")))
    for path in (catalog.SOLUTIONS / "hidden").glob("*.py"):
        lines |= set(map(str.strip, path.read_text(encoding="utf-8").split("\n")))
    return {
        line for line in lines
        if len(line) >= LEAST and COMPUTES.search(line)
        and not line.startswith(("from ", "import ", "def ", "#", '"""', "return wrong(", "return right("))
    }  # fmt: skip


@pytest.fixture(scope="module")
def lines():
    found = solution_lines()
    assert len(found) > 20
    return found


def test_the_scan_sees_a_solution(lines):
    source = catalog.source_of(catalog.find("31.1")).read_text(encoding="utf-8")
    assert any(json.dumps(line, ensure_ascii=False)[1:-1] in source for line in lines)


def test_no_solution_line_is_in_what_students_get(lines, tmp_path):
    assert main(["bundle", "--out", str(tmp_path / "b")]) == 0
    texts = {path: path.read_text(encoding="utf-8") for path in (tmp_path / "b").iterdir()}
    texts |= {path: path.read_text(encoding="utf-8") for path in catalog.EXERCISES.rglob("*.ipynb")}
    found = [
        (path.name, line) for path, text in texts.items() for line in lines
        if json.dumps(line, ensure_ascii=False)[1:-1] in text
    ]  # fmt: skip
    assert found == []
    assert not any(mark in text for text in texts.values() for mark in (BEGIN, END, "solutions/"))


def test_no_solution_line_is_in_the_package(lines):
    """The wheel is `labkit/` alone: what is not there is not in it."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "labkit" / "grade").rglob("*.py")}
    assert [(path.name, line) for path, text in texts.items() for line in lines if line in text] == []
    assert not list((ROOT / "labkit").rglob("*.ipynb"))


def test_the_bundle_holds_the_notebooks_and_nothing_else(tmp_path):
    assert main(["bundle", "--out", str(tmp_path / "b")]) == 0
    names = {str(path.relative_to(tmp_path / "b")) for path in (tmp_path / "b").rglob("*")}
    assert names == {f"{exercise.file}.ipynb" for exercise in catalog.exercises().values()}
    for name in names:
        document = json.loads((tmp_path / "b" / name).read_text(encoding="utf-8"))
        texts = ["".join(cell["source"]) for cell in document["cells"]]
        assert texts[-1].startswith("## 工具与协作声明")
        assert "NotImplementedError" in "".join(texts)
        assert all(not cell.get("outputs") for cell in document["cells"])


def test_a_zip_with_variants_is_the_same_bytes_twice(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"0123456789abcdef")
    for name in ("a.zip", "b.zip"):
        out = str(tmp_path / name)
        assert main(["bundle", "--out", out, "--student", "张三", "--secret-file", str(secret)]) == 0
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    exercise = catalog.find("31.1")
    own = exercise.numbers(b"0123456789abcdef", "张三")
    assert own != exercise.given
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        document = json.loads(archive.read("ex_31_01.ipynb"))
    cells = {cell["id"]: "".join(cell["source"]) for cell in document["cells"]}
    assert cells["given"] == exercise.render_given(own)
    assert cells["statement"] == exercise.render_statement(own)
