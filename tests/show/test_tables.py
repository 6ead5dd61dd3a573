from types import SimpleNamespace

from labkit.show.tables import Table, ends_table


def as_run(result, seats):
    return SimpleNamespace(result=result, scenario=SimpleNamespace(raw={"budget": {"seats": seats}}))


def test_ends_table_of_x1(x1):
    table = ends_table({name: as_run(run, 2) for name, run in x1.items()})
    assert table.head == ("策略", "A", "B", "C", "平均", "全部完成", "座位轮次（有人/共有）")
    assert table.rows == [
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
