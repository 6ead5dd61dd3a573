"""What is kept on disk: it comes back, whatever else may lie there, and two kernels at once lose nothing."""

import json
import os
import subprocess
import sys

import pytest

from labkit.show.predict import Prediction, store
from labkit.show.predict.store import Kept, Unreadable, load, place, save


def prediction(folder, id_="mean", **more):
    return Prediction("31.2", id_, "How long?", answer=40, unit="ms", folder=folder, **more)


def test_a_number_survives_restart_and_reopening(tmp_path):
    prediction(tmp_path).give("100/3")
    again = prediction(tmp_path)
    assert again.kept == Kept("100/3", False, ())
    assert again.says().startswith("你猜 100/3 ≈ 33.33 ms，算出来 40 ms")
    again.skip()
    assert prediction(tmp_path).kept.skipped


@pytest.mark.parametrize("given", ["0", "-0.05", "3.250", "1/3", "123456789012345.123456789012345", "-.5"])
def test_every_number_comes_back_exactly(tmp_path, given):
    first = prediction(tmp_path)
    first.give(given)
    assert prediction(tmp_path).guess == first.guess == store.read_number(given)


def test_it_lies_beside_the_notebook_where_git_does_not_look(tmp_path):
    prediction(tmp_path).give("1")
    assert [p.name for p in tmp_path.iterdir()] == [".labkit"]
    assert (tmp_path / ".labkit" / ".gitignore").read_text(encoding="utf-8") == "*\n"
    (only,) = (tmp_path / ".labkit" / "predictions").iterdir()
    assert only.name == "31.2--mean.json"
    assert json.loads(only.read_text(encoding="utf-8"))["guess"] == "1"


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "a\\b", "A", "con:", "x" * 61, "é", "a--b", ".a", "a\n", None, 3]
)
def test_names_that_could_lead_elsewhere_are_refused(tmp_path, name):
    for page, id_ in ((name, "mean"), ("31.2", name)):
        with pytest.raises(ValueError, match="expected small letters"):
            place(page, id_, tmp_path)


GOOD = {"schema": "labkit.prediction/1", "guess": None, "skipped": False, "hands": []}
HOSTILE = {
    "empty": b"",
    "not utf-8": b"\xff\xfe\x00",
    "cut short": b'{"schema": "labkit.prediction/1", "gue',
    "a list": b"[]",
    "nothing": b"null",
    "another schema": json.dumps({**GOOD, "schema": "x"}).encode(),
    "deep": b"[" * 50_000,
    "long": b" " * 70_000 + json.dumps(GOOD).encode(),
    "number as guess": json.dumps({**GOOD, "guess": 30}).encode(),
    "words as guess": json.dumps({**GOOD, "guess": "<script>"}).encode(),
    "endless guess": json.dumps({**GOOD, "guess": "1/0"}).encode(),
    "skipped by a string": json.dumps({**GOOD, "skipped": "no"}).encode(),
    "hands without hands": json.dumps(
        {"schema": "labkit.prediction/1", "guess": None, "skipped": False}
    ).encode(),
    "hands a string": json.dumps({**GOOD, "hands": "123"}).encode(),
    "hands below zero": json.dumps({**GOOD, "hands": [-1]}).encode(),
    "many hands": json.dumps({**GOOD, "hands": [10**30]}).encode(),
    "true hands": json.dumps({**GOOD, "hands": [True]}).encode(),
    "huge number": b'{"schema": "labkit.prediction/1", "guess": null, "skipped": false, "hands": ['
    + b"9" * 6000
    + b"]}",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_spoilt_file_costs_one_line_and_is_replaced(tmp_path, content):
    path = place("31.2", "mean", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(Unreadable):
        load(path)
    made = prediction(tmp_path)
    assert made.problem.startswith("以前记下的数读不出来（")
    assert "\n" not in made.problem
    assert not made.kept.answered
    assert path.read_bytes() == content, "nothing is overwritten before a new number is given"
    made.give("30")
    assert (made.problem, prediction(tmp_path).guess) == ("", 30)


def test_a_folder_in_the_files_place_is_said_and_left_alone(tmp_path):
    place("31.2", "mean", tmp_path).mkdir(parents=True)
    made = prediction(tmp_path)
    assert "读不出来" in made.problem
    made.give("30")
    assert "记不到磁盘上" in made.problem
    assert "少猜了 10 ms" in made.says()
    assert not [p for p in place("31.2", "mean", tmp_path).parent.iterdir() if p.name.startswith(".31.2")]


def test_a_file_where_the_folder_should_be_is_said(tmp_path):
    (tmp_path / ".labkit").write_text("mine", encoding="utf-8", newline="\n")
    made = prediction(tmp_path)
    made.give("30")
    assert "记不到磁盘上" in made.problem
    assert (made.guess, (tmp_path / ".labkit").read_text(encoding="utf-8")) == (30, "mine")


def test_other_numbers_of_choices_start_counting_anew(tmp_path):
    prediction(tmp_path, choices=(1, 2, 3)).tally([1, 0, 2])
    assert prediction(tmp_path, choices=(1, 2)).kept.hands == (0, 0)
    assert prediction(tmp_path, choices=(1, 2, 3)).kept.hands == (1, 0, 2)


WRITER = """
import sys
from pathlib import Path
from labkit.show.predict.store import Kept, load, place, save

folder, who = Path(sys.argv[1]), sys.argv[2]
for i in range(150):
    save(place("31.2", f"own-{who}", folder), "31.2", f"own-{who}", Kept(str(i)))
    shared = place("31.2", "shared", folder)
    save(shared, "31.2", "shared", Kept(f"{who}.{i}"))
    kept = load(shared)
    assert kept is not None and kept.number is not None
"""


def test_two_kernels_at_once_never_see_half_a_file_nor_lose_a_number(tmp_path):
    start = {
        "env": {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        "stderr": subprocess.PIPE,
        "text": True,
        "encoding": "utf-8",
    }
    both = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), who], **start) for who in "12"]
    for process in both:
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
    for who in "12":
        assert load(place("31.2", f"own-{who}", tmp_path)).guess == "149"
    assert load(place("31.2", "shared", tmp_path)).guess in ("1.149", "2.149")
    left = {p.name for p in (tmp_path / store.FOLDER).iterdir()}
    assert left == {"31.2--own-1.json", "31.2--own-2.json", "31.2--shared.json"}


def test_a_write_that_fails_leaves_the_old_number(tmp_path, monkeypatch):
    path = place("31.2", "mean", tmp_path)
    save(path, "31.2", "mean", Kept("1"))

    def refuse(*_):
        raise PermissionError(13, "held by another")

    monkeypatch.setattr(store.os, "replace", refuse)
    monkeypatch.setattr(store, "PAUSE", 0)
    with pytest.raises(PermissionError):
        save(path, "31.2", "mean", Kept("2"))
    assert load(path).guess == "1"
    assert [p.name for p in path.parent.iterdir()] == [path.name]
