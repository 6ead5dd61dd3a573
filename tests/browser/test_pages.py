import pytest

pytestmark = pytest.mark.browser

PAGES = ("00_start",)  # 31.2 has a file of its own, in which it is run once for many tests
SHOWN = "image => image.complete && image.naturalWidth > 300 && image.getBoundingClientRect().width > 300"


def told(outputs):
    """Kinds and texts of all outputs, for a failure's message."""
    return [
        (id_, out["output_type"], out.get("ename"), out.get("text"))
        for id_ in outputs
        for out in outputs[id_]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_to_its_end_and_asks_nobody_outside(notebook, name):
    page = notebook(name)
    outputs = page.run_all()
    kinds = {out["output_type"] for each in outputs.values() for out in each}
    assert not kinds & {"error", "stream"}, told(outputs)
    assert page.strangers == []
    assert page.complaints == []


def test_figure_31_1_is_shown_with_its_numbers_in_words(notebook):
    page = notebook("00_start")
    page.run_all()
    page.show_cell("start-run")
    image = page.page.get_by_alt_text("平均 100/3 ≈ 33.33 ms").first
    image.wait_for(state="visible")
    assert image.evaluate(SHOWN)
    text = image.get_attribute("alt")
    assert "静态：" in text
    assert "完成：A 40 ms、B 10 ms、C 20 ms，平均 70/3 ≈ 23.33 ms" in text
