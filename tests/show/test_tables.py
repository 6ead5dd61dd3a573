from fractions import Fraction
from types import SimpleNamespace

from labkit.show.tables import Table, ends_table, table


def as_run(result, seats):
    return SimpleNamespace(result=result, scenario=SimpleNamespace(raw={"budget": {"seats": seats}}))


def test_ends_table_of_x1(x1):
    shown = ends_table({name: as_run(run, 2) for name, run in x1.items()})
    assert shown.head == ("策略", "A", "B", "C", "平均", "全部完成", "座位轮次（有人/共有）")
    assert shown.rows == [
        ("静态", "40", "10", "50", "100/3 ≈ 33.33 ms", "50 ms", "6/10"),
        ("连续", "40", "10", "20", "70/3 ≈ 23.33 ms", "40 ms", "6/8"),
    ]


def test_an_unfinished_request_gets_a_dash(result):
    run = as_run(result([(10, "A")], {"A": None}), 1)
    assert ends_table({"x": run}).rows == [("x", "–", "–", "1/1")]


def test_html_is_a_table_that_can_be_walked():
    html = Table("<b>", ["a"], [["&", "1"]])._repr_html_()
    assert "<caption" in html
    assert 'scope="row"' in html
    assert 'scope="col"' in html
    assert "&lt;b&gt;" in html
    assert "&amp;" in html


def test_a_table_of_ones_own_writes_fractions_and_dashes():
    made = table("sizes", "of", {1: {"mean": Fraction(100, 3), "name": "a"}, 2: {"mean": Fraction(2)}})
    assert made.head == ("of", "mean", "name")
    assert made.rows == [("1", "100/3 ≈ 33.33", "a"), ("2", "2", "–")]
    assert '<th scope="row"' in made._repr_html_()
