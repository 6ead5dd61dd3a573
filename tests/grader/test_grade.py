"""`grade` from the command line: a row for everything, fair to odd notebooks, the same after a kill, escaped."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from labkit.__main__ import main
from labkit.bootstrap import ROOT
from labkit.grade import catalog, trial
from labkit.grade.collect import collect
from labkit.grade.report import neutral, page_name
from labkit.grade.run import read_results
from labkit.grade.sandbox import Box

EXERCISE = catalog.find("31.1")
SOURCE = catalog.source_of(EXERCISE).read_text(encoding="utf-8")
THERE = """
import importlib

def there(name):
    try:
        importlib.import_module(name)
        return True
    except ImportError:
        return False

def listed(name):
    import os
    return sorted(os.listdir(os.path.dirname(importlib.import_module(name).__file__)))
"""
pytestmark = pytest.mark.sandbox


def handed_in(folder, student, text=SOURCE, name="ex_31_01.ipynb"):
    place = folder / student
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(text, encoding="utf-8", newline="\n")


def changed(change):
    """Return the reference notebook after `change` of its JSON."""
    document = json.loads(SOURCE)
    change(document)
    return json.dumps(document)


def percent(before="", between=""):
    """Return the reference as a .py, with a line before and one between its cells."""
    cells = [cell for cell in json.loads(SOURCE)["cells"] if cell["cell_type"] == "code"]
    return before + between.join(f"# %%\n{''.join(cell['source'])}\n" for cell in cells)


def table(out):
    text = (out / "grades.csv").read_bytes()
    assert text.startswith(b"\xef\xbb\xbf"), "Excel needs the mark to read UTF-8"
    rows = list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"), newline="")))
    return {row["student"]: row for row in rows if row["exercise"] == "31.1"}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Return the table of one run over odd submissions, and the report's folder."""
    base = tmp_path_factory.mktemp("grade")
    here = base / "submissions"
    code = {"cell_type": "code", "id": "more", "metadata": {}, "outputs": [], "execution_count": None}
    handed_in(here, "reference")
    handed_in(here, "=SUM(A1)")
    handed_in(here, '<img src=x onerror="alert(1)">')
    handed_in(
        here, "twice", changed(lambda d: d["cells"].extend([{**c, "id": f"{c['id']}2"} for c in d["cells"]]))
    )
    handed_in(
        here, "noisy", percent("import sys\nprint('x' * 10**6)\nsys.stderr.write('y')\n"), "ex_31_01.py"
    )
    handed_in(here, "windows", percent().replace("\n", "\r\n"), "ex_31_01.py")
    handed_in(here, "mark", "\ufeff" + SOURCE)
    handed_in(
        here,
        "magic",
        changed(lambda d: d["cells"].insert(0, code | {"source": "%matplotlib inline\n!ls\nx = 1"})),
    )
    handed_in(here, "ids gone", changed(lambda d: [c.pop("id") for c in d["cells"]]))
    handed_in(
        here,
        "one bad cell",
        changed(lambda d: d["cells"].insert(1, code | {"source": "import os\nos._exit(1)"})),
    )
    handed_in(here, "renamed", SOURCE, "ex_31_01 (1).ipynb")
    handed_in(here, "renamed more", SOURCE, "homework.ipynb")
    handed_in(here, "two files", percent("wait = 0\n"), "ex_31_01.py")
    handed_in(here, "two files")
    handed_in(here, "in chapter", SOURCE, "../in chapter/ex_31_01.ipynb")
    (here / "in chapter" / "ch31").mkdir()
    (here / "in chapter" / "ex_31_01.ipynb").rename(here / "in chapter" / "ch31" / "ex_31_01.ipynb")
    handed_in(here, "stranger", "x = 1", "thoughts.py")
    handed_in(
        here,
        "only a",
        changed(lambda d: d.update(cells=[c for c in d["cells"] if c["id"] in ("given", "a")])),
    )
    (base / "roster.csv").write_text("id,name\nreference,R\nabsent,A\n", encoding="utf-8", newline="\n")
    out = base / "report"
    command = ["grade", str(here), "--out", str(out), "--jobs", "2", "--roster", str(base / "roster.csv")]
    assert main(command) == 0
    return table(out), out


ODD_BUT_RIGHT = [
    "reference", "'=SUM(A1)", '<img src=x onerror="alert(1)">', "twice", "noisy", "windows", "mark", "magic",
    "ids gone", "one bad cell", "renamed", "renamed more", "two files", "in chapter",
]  # fmt: skip


@pytest.mark.parametrize("student", ODD_BUT_RIGHT)
def test_odd_but_right_gets_all_marks(graded, student):
    rows, _ = graded
    assert (rows[student]["state"], rows[student]["earned"], rows[student]["parts"]) == (
        "graded",
        "9",
        "a 3/3; b 3/3; c 3/3",
    )


def test_every_student_has_a_row(graded):
    rows, _ = graded
    assert set(rows) == {*ODD_BUT_RIGHT, "stranger", "only a", "absent"}
    assert (rows["absent"]["state"], rows["stranger"]["state"]) == ("missing", "missing")
    assert rows["only a"]["parts"] == "a 3/3; b 0/3; c 0/3"


def test_pages_escape_what_students_wrote_and_name_what_was_set_aside(graded):
    _, out = graded
    index = (out / "index.html").read_text(encoding="utf-8")
    pages = {path.name: path.read_text(encoding="utf-8") for path in (out / "students").iterdir()}
    assert len(pages) == len(ODD_BUT_RIGHT) + 3
    for text in [index, *pages.values()]:
        assert "<img" not in text
        assert "bubblewrap" in text
    assert "&lt;img src=x" in index
    assert "thoughts.py" in index
    assert "ex_31_01 (1).ipynb" in pages[page_name("renamed")]
    assert "ex_31_01.py" in pages[page_name("two files")]
    assert all(name in index for name in pages)


def test_page_names_are_safe_and_never_the_same():
    names = [
        page_name(name) for name in ("../../etc", "a/b", "a_b", "a b", "张三", "张三 ", "x" * 300, "A", "a")
    ]
    assert len({name.lower() for name in names}) == len(names)
    assert all("/" not in name and len(name) < 80 and not name.startswith(".") for name in names)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@x", "'@x"), ("\tx", "' x"), ("\r=x", "' =x"),
        (" =x", "' =x"), ("a\nb", "a b"), ("31.1", "31.1"), ("张三", "张三"), ("", ""),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(cell, shown):
    assert neutral(cell) == shown


def test_a_killed_run_goes_on_and_ends_with_the_same_table(tmp_path):
    here = tmp_path / "submissions"
    wrong = SOURCE.replace("ttft = first - arrival", "ttft = first - arrival + start - arrival")
    for number in range(12):
        handed_in(here, f"s{number}", wrong if number % 3 else SOURCE)
    command = [sys.executable, "-m", "labkit", "grade", str(here), "--jobs", "2", "--out"]

    def start(out):
        return subprocess.Popen(
            [*command, str(out)],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    straight, broken = tmp_path / "straight", tmp_path / "broken"
    assert start(straight).wait() == 0
    results = broken / "results.jsonl"
    for lines in (1, 4, 7):
        process = start(broken)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if results.exists() and results.read_bytes().count(b"\n") >= lines:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with results.open("a", encoding="utf-8", newline="\n") as file:
        file.write('{"key": "half a li')
    before = results.read_bytes().count(b"\n")
    assert before >= 7
    assert start(broken).wait() == 0
    assert (broken / "grades.csv").read_bytes() == (straight / "grades.csv").read_bytes()
    assert len(read_results(results)) == 12, "the half line took none of the others with it"


def test_variants_are_graded_with_each_students_own_numbers(tmp_path, capsys):
    secret, roster, given_out = tmp_path / "secret", tmp_path / "roster", tmp_path / "bundles"
    secret.write_bytes(b"0123456789abcdef\n")
    roster.write_text("张三\n李四\n", encoding="utf-8", newline="\n")
    assert (
        main(["bundle", "--out", str(given_out), "--roster", str(roster), "--secret-file", str(secret)]) == 0
    )
    cells = {cell["id"]: cell for cell in json.loads(SOURCE)["cells"]}
    for student, own in (("张三", "张三"), ("李四", "张三")):  # the second hands in the first one's numbers
        document = json.loads((given_out / own / "ex_31_01.ipynb").read_text(encoding="utf-8"))
        for cell in document["cells"]:
            if cell["id"] in ("a", "b", "c"):
                cell["source"] = cells[cell["id"]]["source"]
        handed_in(tmp_path / "submissions", student, json.dumps(document))
    command = ["grade", str(tmp_path / "submissions"), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main([*command, "--secret-file", str(secret)]) == 0
    rows = table(tmp_path / "out")
    assert rows["张三"]["parts"] == "a 3/3; b 3/3; c 3/3"
    assert rows["李四"]["parts"].endswith("c 3/3")
    assert float(rows["李四"]["earned"]) < 9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grade", "{base}/nowhere", "--out", "{base}/out"], "not a folder"),
        (["grade", "{base}", "--out", "{base}/out"], "holds no folder"),
        (["grade", "{base}"], "--out"),
        (["grade", "{base}", "--out", "{base}/out", "--jobs", "0"], "expected 1 to 256"),
        (["grade", "{base}", "--out", "{base}/out", "--jobs", "two"], "--jobs"),
        (["grade", "{base}", "--out", "{base}/out", "--secret-file", "{base}/short"], "at least 16"),
        (["grade", "{base}", "--out", "{base}/out", "--secret-file", "{base}/none"], "cannot be read"),
        (["grade", "{base}", "--out", "{base}/out", "--roster", "{base}/bad"], "can name a folder"),
        (["grade", "{base}", "--out", "{base}/out", "--roster", "{base}/empty"], "names no student"),
        (["grade", "{base}/subs", "--out", "{base}/short"], "cannot be made"),
        (["bundle", "--out", "{base}/b", "--student", "x"], "--secret-file"),
        (["bundle", "--out", "{base}/b", "--secret-file", "{base}/short"], "--student"),
        (["bundle", "--out", "{base}/subs"], "is there already"),
        (["bundle"], "--out"),
        (["check", "{base}/none.ipynb"], "cannot be opened"),
        (["check", "{base}/broken.ipynb"], "not JSON"),
        (["check", "{base}/other.py"], "expected one of 31.1"),
    ],
)
def test_wrong_input_is_one_clear_line(tmp_path, capsys, arguments, said):
    (tmp_path / "short").write_bytes(b"short")
    (tmp_path / "bad").write_text("../x\n", encoding="utf-8", newline="\n")
    (tmp_path / "empty").write_text("\n", encoding="utf-8", newline="\n")
    (tmp_path / "broken.ipynb").write_text("{", encoding="utf-8", newline="\n")
    (tmp_path / "other.py").write_text("x = 1\n", encoding="utf-8", newline="\n")
    if "{base}/subs" in arguments:
        handed_in(tmp_path / "subs", "x")
    assert main([argument.replace("{base}", str(tmp_path)) for argument in arguments]) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.count("\n") == 1
    assert said in written.err
    assert "Traceback" not in written.err


def test_without_a_sandbox_it_refuses_and_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(trial, "fault", lambda mode, private: "is not to be had")
    handed_in(tmp_path / "subs", "x")
    command = ["grade", str(tmp_path / "subs"), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "bwrap: is not to be had" in said
    assert "--unsandboxed" in said
    assert not (tmp_path / "out" / "grades.csv").exists()
    assert main([*command, "--unsandboxed"]) == 0
    assert table(tmp_path / "out")["x"]["earned"] == "9"
    assert "--unsandboxed" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_a_box_that_shows_private_files_fails_its_trial(tmp_path):
    assert trial.fault("bwrap", [tmp_path]) == ""
    assert "can see" in trial.fault("bwrap", [tmp_path, ROOT.__class__(sys.base_prefix)])
    assert "can see" in trial.fault("none", [])


def test_only_declared_labkit_modules_are_in_the_box():
    from labkit.grade.session import Session

    with Box(EXERCISE, "bwrap") as box, Session(box, [THERE]) as session:
        names = (
            "labkit.measure.times",
            "labkit.theory",
            "labkit.grade.checks",
            "labkit.core.pages",
            "pip",
            "torch",
        )
        assert [session.call("there", (name,)) for name in names] == [False] * len(names)
        assert session.call("listed", ("labkit",)) == ["__init__.py", "grade"]
        assert session.call("listed", ("labkit.grade",)) == ["__init__.py", "public.py"]
        assert all(
            session.call("there", (name,)) for name in ("numpy", "sympy", "labkit.grade.public", "statistics")
        )


def test_collecting_reads_nbgraders_layout(tmp_path):
    handed_in(tmp_path / "submitted", "x/ch31")
    (tmp_path / "submitted" / "x" / "ch31" / "timestamp.txt").write_text(
        "now", encoding="utf-8", newline="\n"
    )
    found, strangers = collect(tmp_path, None)
    [mine] = [s for s in found if s.path is not None]
    assert (mine.student, mine.exercise, strangers) == ("x", "31.1", [])
    os.rename(tmp_path / "submitted" / "x" / "ch31", tmp_path / "submitted" / "x" / "ch30")
    assert not any(s.path for s in collect(tmp_path, None)[0])
