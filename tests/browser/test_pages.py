import pytest

pytestmark = pytest.mark.browser

PAGES = ("00_start", "31_2_continuous_batching")
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


@pytest.mark.parametrize(
    ("name", "cell"), [("00_start", "start-run"), ("31_2_continuous_batching", "f31-1-timeline")]
)
def test_figure_31_1_is_shown_with_its_numbers_in_words(notebook, name, cell):
    page = notebook(name)
    page.run_all()
    page.show_cell(cell)
    image = page.page.get_by_alt_text("平均 100/3 ≈ 33.33 ms").first
    image.wait_for(state="visible")
    assert image.evaluate(SHOWN)
    text = image.get_attribute("alt")
    assert "静态：" in text
    assert "完成：A 40 ms、B 10 ms、C 20 ms，平均 70/3 ≈ 23.33 ms" in text


def open_panel(notebook):
    page = notebook("31_2_continuous_batching")
    page.run_all()
    page.show_cell("c08-panel")
    one = page.page.get_by_role("slider", name="一条序列一轮 t₁")
    two = page.page.get_by_role("slider", name="两条序列一轮 t₂")
    one.wait_for(state="visible")
    return page, one, two


def test_sliders_move_by_key_and_the_numbers_follow(notebook):
    page, one, two = open_panel(notebook)
    status = page.page.locator(".labkit-panel").get_by_role("status")
    image = page.page.locator("img.labkit-panel-picture")
    assert "t₁ = 6 ms，t₂ = 10 ms" in status.inner_text()
    before = image.get_attribute("src"), image.bounding_box()
    active = page.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex")

    two.focus()
    for _ in range(6):
        page.page.keyboard.press("ArrowRight")
    page.page.wait_for_function(
        "document.querySelector('.labkit-panel-says').textContent.includes('t₂ = 16 ms')"
    )
    # t₂ = 16 > 2.5 · 6: static is earlier by the mean, 90/3 against 92/3.
    assert "平均，静态早 2/3 ≈ 0.67 ms" in status.inner_text()
    assert "平均 92/3 ≈ 30.67 ms" in image.get_attribute("alt")
    assert two.get_attribute("aria-valuetext") == "16 ms"
    assert image.get_attribute("src") != before[0]
    assert image.evaluate(SHOWN)
    assert image.bounding_box() == before[1], "the layout jumped"

    one.focus()
    page.page.keyboard.press("End")
    page.page.wait_for_function(
        "document.querySelector('.labkit-panel-says').textContent.includes('t₁ = 15 ms')"
    )
    page.page.keyboard.press("ArrowDown")
    page.page.wait_for_function(
        "document.querySelector('.labkit-panel-says').textContent.includes('t₁ = 14 ms')"
    )
    now = page.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex")
    assert now == active, "JupyterLab took the arrow keys"


def test_the_newest_wish_wins_in_a_drag(notebook):
    page, _, two = open_panel(notebook)
    box = two.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.page.mouse.move(box["x"] + 45, middle)
    page.page.mouse.down()
    for step in range(60):
        page.page.mouse.move(box["x"] + 45 + step * (box["width"] - 45) / 50, middle)
    page.page.mouse.up()
    page.page.wait_for_function(
        "document.querySelector('.labkit-panel-says').textContent.includes('t₂ = 40 ms')"
    )


def test_a_panel_without_a_kernel_says_so(notebook):
    page, one, _ = open_panel(notebook)
    page.page.evaluate(
        "async () => { await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt();"
        " window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute("
        "{code: 'import time; time.sleep(8)'}); }"
    )
    one.focus()
    page.page.keyboard.press("ArrowRight")
    page.page.get_by_role("alert").get_by_text("内核没有回应").wait_for(timeout=20_000)
    page.page.wait_for_function(
        "document.querySelector('.labkit-panel-says').textContent.includes('t₁ = 7 ms')", timeout=20_000
    )
    assert page.page.locator(".labkit-panel-error").inner_text() == ""
