import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import pytest

import labkit
from labkit.show.predict import Prediction, guess, guesses
from labkit.show.predict.numbers import exact, read_number


@pytest.fixture(autouse=True)
def notebook_folder(tmp_path, monkeypatch):
    """Run as a notebook in a folder of its own, with no prediction known yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(guess, "_known", {})
    return tmp_path


def ask(answer=Fraction(100, 3), **more):
    return labkit.predict("31.2", "x1-mean", "How long?", unit="ms", answer=answer, **more)


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("33.3", Fraction(333, 10)),
        (" 100/3 ", Fraction(100, 3)),
        ("-4", Fraction(-4)),
        ("−4 ms", Fraction(-4)),
        ("37%", Fraction(37)),
        ("１２．５", Fraction(25, 2)),
        (".5", Fraction(1, 2)),
        ("7.", Fraction(7)),
    ],
)
def test_numbers_are_read_as_people_write_them(text, value):
    assert read_number(text, "ms") == value


@pytest.mark.parametrize(
    "text", ["", "abc", "1/0", "nan", "inf", "1e9", "1,000", "0x10", "1/2/3", "9" * 41, "٣", "--1"]
)
def test_what_is_no_number_is_none(text):
    assert read_number(text, "ms") is None


@pytest.mark.parametrize("value", [3, 3.5, Decimal("0.1"), Fraction(1, 3)])
def test_computed_numbers_stay_exact(value):
    assert exact(value) == Fraction(value)


def test_sympy_and_numpy_numbers_are_computed_numbers_too():
    numpy, sympy = pytest.importorskip("numpy"), pytest.importorskip("sympy")
    assert exact(numpy.int64(7)) == 7
    assert exact(numpy.float64(0.5)) == Fraction(1, 2)
    assert exact(sympy.Rational(100, 3)) == Fraction(100, 3)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "many", None, [1]])
def test_what_is_not_finite_is_no_truth(value):
    with pytest.raises(ValueError, match="finite number"):
        exact(value)


# ---------------------------------------------------------------- hidden, given, skipped


def test_the_truth_is_hidden_until_a_number_is_given():
    asked = []
    made = ask(lambda: asked.append(1) or 40)
    assert (made.says(), made.truth, made.error, asked) == ("", None, None, [])
    assert "40" not in made._repr_mimebundle_()["text/html"].replace("31.2", "")
    made.give("30")
    assert made.says() == "你猜 30 ms，算出来 40 ms：少猜了 10 ms，即答案的 25%。"
    assert (made.error, len(asked)) == (Fraction(-10), 1)


def test_skipping_shows_the_truth_and_no_error():
    made = ask()
    made.skip()
    assert made.says() == "算出来 100/3 ≈ 33.33 ms。"
    assert made.error is None


def test_what_is_no_number_changes_nothing_and_is_said():
    made = ask()
    made.give("twelve")
    assert "“twelve”不是一个数" in made.problem
    assert (made.kept.answered, made.says()) == (False, "")
    made.give("100/3")
    assert (made.problem, made.says().endswith("正好。")) == ("", True)


def test_again_hides_the_truth():
    made = ask()
    made.give("1")
    made.again()
    assert (made.truth, made.says(), made.guess) == (None, "", None)


def test_a_percentage_has_no_percentage():
    made = labkit.predict("31.2", "share", "?", unit="%", answer=37)
    made.give("75")
    assert made.says() == "你猜 75 %，算出来 37 %：多猜了 38 %。"


def test_a_truth_that_comes_later_is_told_when_it_is_there():
    later = {}

    def truth():
        if not later:
            raise NameError("name 'later' is not defined")
        return later["value"]

    made = ask(truth)
    made.give("30")
    assert "由下面的格子算出" in made.says()
    later["value"] = 30
    guess._look_again(None)
    assert made.says().endswith("正好。")


def test_an_answer_that_fails_is_said_and_stops_nothing():
    made = ask(lambda: 1 / 0)
    made.skip()
    assert "ZeroDivisionError" in made.says()
    assert made._repr_mimebundle_()["text/plain"]


def test_watchers_hear_of_every_change():
    made, heard = ask(), []
    made.watch(lambda: heard.append(made.says()))
    made.give("1")
    made.again()
    assert len(heard) == 2


# ---------------------------------------------------------------- code alone, the still form, the score


def test_a_guess_in_code_needs_no_widget():
    made = ask(guess=30)
    assert made.guess == 30
    assert "少猜了 10/3 ≈ 3.33 ms" in made._repr_mimebundle_()["text/html"]
    with pytest.raises(ValueError, match="不是一个数"):
        ask(guess="many")


def test_without_widgets_the_still_form_says_how_to_answer(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "labkit.show.predict.widget", raising=False)
    bundle = labkit.predict("31.2", "a", "Is 1 < 2?", answer=1)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert "guess=" in bundle["text/html"]
    assert "Is 1 &lt; 2?" in bundle["text/html"]


def test_the_score_lists_this_pages_guesses():
    ask(guess=30)
    labkit.predict("31.2", "other", "And this?", answer=5)
    labkit.predict("31.3", "elsewhere", "Not here", answer=5)
    rows = guesses("31.2").rows
    assert rows == [
        ("How long?", "30 ms", "100/3 ≈ 33.33 ms", "-10/3 ≈ -3.33 ms"),
        ("And this?", "–", "–", "–"),
    ]


@pytest.mark.parametrize("choices", [(3, 1), (1, 1), range(10), ("x",)])
def test_choices_are_few_and_rising(choices):
    with pytest.raises(ValueError, match="expected"):
        ask(choices=choices)


# ---------------------------------------------------------------- the widget


def widget(made):
    pytest.importorskip("anywidget")
    from labkit.show.predict.widget import PredictionWidget

    return PredictionWidget(made)


def do(shown, wish="", text="", hands=()):
    shown.asked = {"serial": str(shown.version), "wish": wish, "text": text, "hands": list(hands)}


def test_the_widget_sends_the_truth_only_when_it_may_be_seen():
    shown = widget(ask(choices=(10, 20, 30)))
    assert (shown.truth, shown.says) == ({}, "")
    do(shown, "give", "30", [0, 0, 0])
    assert shown.truth == {"value": pytest.approx(100 / 3), "text": "100/3 ≈ 33.33 ms"}
    do(shown, "again", "", [0, 0, 0])
    assert (shown.truth, shown.says, shown.state["guess"]) == ({}, "", None)


def test_hands_are_counted_and_kept_beside_the_guess():
    made = ask(choices=(10, 20, 30))
    shown = widget(made)
    do(shown, "", "", [0, 2, 5])
    do(shown, "give", "20", [1, 2, 5])
    assert (made.kept.hands, made.guess) == ((1, 2, 5), 20)
    assert widget(ask(choices=(10, 20, 30))).state == {"guess": "20", "skipped": False, "hands": [1, 2, 5]}


def test_the_still_form_in_the_notebook_follows(monkeypatch):
    display = pytest.importorskip("IPython.display")
    shown = []
    monkeypatch.setattr(display, "publish_display_data", lambda data, **how: shown.append((data, how)))
    made = ask()
    made._ipython_display_()
    made.give("30")
    (_, first), (last, update) = shown[-2:]
    assert (first["update"], update["update"]) == (False, True)
    assert first["transient"] == update["transient"]
    assert "你猜 30 ms" in last["text/html"]


@pytest.mark.parametrize("asked", [{}, {"wish": "rob"}, {"hands": "many"}, {"hands": [1]}, {"wish": "give"}])
def test_the_widget_survives_what_no_browser_of_ours_sends(asked):
    made = ask(choices=(10, 20))
    shown = widget(made)
    shown.asked = {"serial": "x", **asked}
    assert not made.kept.answered
    assert made.kept.hands == (0, 0)


# ---------------------------------------------------------------- import


def test_import_labkit_stays_light():
    code = "import sys, labkit; assert not {'numpy', 'matplotlib', 'anywidget', 'IPython'} & set(sys.modules)"
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )


def test_predict_is_labkits():
    assert labkit.predict is guess.predict
    assert isinstance(ask(), Prediction)
