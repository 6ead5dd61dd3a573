"""Section 31.2 in a real JupyterLab: run once from top to end, then each control moved to both ends, and what is
shown is read. The tests go down the page in order and share it; the last two start its kernel anew and close it."""

import sys

import pytest

pytestmark = pytest.mark.browser

NAME = "31_2_continuous_batching"
SHOWN = "image => image.complete && image.naturalWidth > 300 && image.getBoundingClientRect().width > 300"
ACTIVE = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"
SAYS = """([name, text]) => [...document.querySelectorAll('.labkit-panel')].some((panel) =>
  panel.getAttribute('aria-label') === name && panel.querySelector('.labkit-panel-says').textContent.includes(text))"""
RUN_THESE = """async (ids) => {
  const panel = window.jupyterapp.shell.currentWidget;
  for (const id of ids) {
    panel.content.activeCellIndex = panel.content.widgets.findIndex((cell) => cell.model.id === id);
    panel.content.deselectAll();
    await window.jupyterapp.commands.execute('notebook:run-cell');
  }
}"""
# A busy kernel still answers widgets, in a thread of their own; not while it holds the interpreter's lock.
STUCK = """(code) => {
  window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code});
}"""
RESTART = """async () => {
  const session = window.jupyterapp.shell.currentWidget.sessionContext;
  await session.restartKernel();
  await session.session.kernel.info;
}"""


@pytest.fixture(scope="module")
def opened(lab, browser, notebook_class):
    """The page in a window of its own, run from top to end, with what its cells put out."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(120_000)
    page = notebook_class(context.new_page()).open(
        f"{lab}/lab/workspaces/{NAME}/tree/notebooks/{NAME}.ipynb?reset"
    )
    page.outputs = page.run_all()
    yield page
    context.close()


@pytest.fixture
def page(opened):
    """The page, to which nobody outside was asked, and which complained of nothing, until the test's end."""
    yield opened
    assert opened.strangers == []
    assert opened.complaints == []


def panel(page, name, *labels):
    """A panel by its accessible name, with its sliders."""
    group = page.page.get_by_role("group", name=name, exact=True).and_(page.page.locator(".labkit-panel"))
    group.scroll_into_view_if_needed()
    return group, *(group.get_by_role("slider", name=label) for label in labels)


def press(page, control, key, name, text):
    """Press a key on a control until its panel says `text`."""
    control.focus()
    page.page.keyboard.press(key)
    page.page.wait_for_function(SAYS, arg=[name, text])


def test_it_runs_to_its_end(page):
    kinds = [(id_, out["output_type"]) for id_, outs in page.outputs.items() for out in outs]
    assert not {kind for _, kind in kinds} & {"error", "stream"}, kinds


def test_figure_31_1_is_shown_with_its_numbers_in_words(page):
    page.show_cell("f31-1-timeline")
    image = page.page.get_by_alt_text("完成：A 40 ms、B 10 ms、C 20 ms，平均 70/3 ≈ 23.33 ms").first
    image.wait_for(state="visible")
    assert image.evaluate(SHOWN)


TIMES = "轮时与两种策略的先后"


def test_round_times_at_both_ends_of_both_sliders(page):
    group, one, two = panel(page, TIMES, "一条序列一轮 t₁", "两条序列一轮 t₂")
    image = group.locator("img")
    before, source = image.bounding_box(), image.get_attribute("src")
    press(page, two, "Home", TIMES, "t₁ = 6 ms，t₂ = 1 ms：请求 A，连续早 5 ms")
    active = page.page.evaluate(ACTIVE)
    press(page, two, "End", TIMES, "t₁ = 6 ms，t₂ = 40 ms：请求 A，静态早 34 ms")
    assert two.get_attribute("aria-valuetext") == "40 ms"
    press(page, one, "End", TIMES, "t₁ = 15 ms，t₂ = 40 ms")
    assert "平均，静态早 5/3 ≈ 1.67 ms" in group.get_by_role("status").inner_text()  # 5/3 t₁ − 2/3 t₂
    press(page, one, "Home", TIMES, "t₁ = 1 ms，t₂ = 40 ms")
    assert "平均 t₂ = 2.5 ms" in image.get_attribute("alt")
    assert image.get_attribute("src") != source
    assert image.evaluate(SHOWN)
    assert {k: image.bounding_box()[k] for k in ("width", "height")} == {
        k: before[k] for k in ("width", "height")
    }
    assert page.page.evaluate(ACTIVE) == active, "JupyterLab took the arrow keys"


def test_the_newest_wish_wins_in_a_drag(page):
    _, two = panel(page, TIMES, "两条序列一轮 t₂")
    press(page, two, "Home", TIMES, "t₂ = 1 ms")
    box = two.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.page.mouse.move(box["x"] + 8, middle)
    page.page.mouse.down()
    for step in range(60):
        page.page.mouse.move(box["x"] + 8 + step * box["width"] / 50, middle)
    page.page.mouse.up()
    page.page.wait_for_function(SAYS, arg=[TIMES, "t₂ = 40 ms"])


WINDOW = "等待上限与最大批量"


def test_the_window_panel_at_both_ends_and_its_table(page):
    group, window, size = panel(page, WINDOW, "等待上限", "最大批量")
    image = group.locator("img")
    press(page, window, "Home", WINDOW, "等待上限 0 ms、最大批量 8")
    press(page, window, "ArrowRight", WINDOW, "等待上限 25 ms")
    press(page, window, "End", WINDOW, "等待上限 400 ms、最大批量 8")
    press(page, size, "Home", WINDOW, "最大批量 2")
    press(page, size, "End", WINDOW, "等待上限 400 ms、最大批量 16")
    assert size.get_attribute("aria-valuetext") == "16"
    assert "左图，等待上限从 0 到 400 ms：每秒 2 个" in image.get_attribute("alt")
    assert image.evaluate(SHOWN)
    fold = group.locator("summary")
    fold.focus()
    page.page.keyboard.press("Enter")
    table = group.get_by_role("table", name="最大批量 16 时")
    table.wait_for(state="visible")
    assert table.get_by_role("row").count() == 7
    press(page, size, "Home", WINDOW, "最大批量 2")
    group.get_by_role("table", name="最大批量 2 时").wait_for(state="visible")
    fold.focus()
    page.page.keyboard.press("Space")
    table.wait_for(state="detached")


@pytest.mark.skipif(sys.platform == "win32", reason="the C library's sleep has another name there")
def test_a_panel_without_an_answer_says_so(page):
    group, one = panel(page, TIMES, "一条序列一轮 t₁")
    page.page.evaluate(STUCK, "import ctypes; ctypes.PyDLL(None).sleep(7)")
    one.focus()
    page.page.keyboard.press("ArrowRight")
    group.get_by_role("alert").get_by_text("内核没有回应").wait_for(timeout=20_000)
    page.page.wait_for_function(SAYS, arg=[TIMES, "t₁ = 2 ms"], timeout=20_000)
    assert group.locator(".labkit-panel-error").inner_text() == ""


def test_only_one_of_widget_and_still_form_is_shown(page):
    page.show_cell("c08-panel")
    stills = page.page.locator("[class^=labkit-still-labkit-panel]")
    assert stills.count() >= 1
    assert not any(stills.nth(i).is_visible() for i in range(stills.count()))


# ---------------------------------------------------------------- predictions


def prediction(page, id_, question):
    page.show_cell(id_)
    box = page.page.locator(".labkit-predict").filter(has_text=question)
    box.wait_for(state="visible")
    return box


def status(box):
    return box.locator(".labkit-predict-says")


def test_a_prediction_by_keyboard_alone(page):
    box = prediction(page, "x1-guess", "三个请求平均多少毫秒完成")
    assert "33.33" not in box.inner_text()
    field = box.get_by_role("textbox", name="你的数 (ms)")
    field.focus()
    page.page.keyboard.type("nope")
    page.page.keyboard.press("Enter")
    box.get_by_role("alert").get_by_text("不是一个数").wait_for()
    assert field.get_attribute("aria-invalid") == "true"
    field.fill("30")
    page.page.keyboard.press("Tab")  # to 写下
    page.page.keyboard.press("Enter")
    status(box).get_by_text(
        "你猜 30 ms，算出来 100/3 ≈ 33.33 ms：少猜了 10/3 ≈ 3.33 ms，即答案的 10%。"
    ).wait_for()
    assert box.get_by_role("button", name="重猜").evaluate("node => node === document.activeElement")
    page.page.keyboard.press("Enter")
    page.page.wait_for_function(
        "() => !document.querySelector('.labkit-predict').textContent.includes('算出来')"
    )
    field.fill("100/3")
    page.page.keyboard.press("Enter")
    status(box).get_by_text("正好").wait_for()


def test_skipping_shows_the_truth(page):
    box = prediction(page, "q31-2-guess", "A 晚多少毫秒")
    box.get_by_role("button", name="跳过").click()
    status(box).get_by_text("算出来 4 ms。").wait_for()


def test_a_class_votes_with_digit_keys(page):
    box = prediction(page, "aha-guess-8", "八个座位")
    box.get_by_role("button", name="全班举手").click()
    group = box.get_by_role("group", name="全班举手")
    assert group.evaluate("node => node === document.activeElement")
    active = page.page.evaluate(ACTIVE)
    for key in "77758":  # quicker than the kernel answers
        page.page.keyboard.press(key)
    page.page.keyboard.press("Shift+Digit8")
    heard = group.get_by_role("status")
    assert heard.inner_text() == "80 %，0 只手；一共 4 只。"
    group.get_by_role("button", name="40 %：0 只手").click()
    assert heard.inner_text() == "40 %，1 只手；一共 5 只。"
    counts = group.locator("svg text").all_text_contents()
    assert "3" in counts
    assert not [text for text in counts if "算出来" in text]
    group.focus()
    page.page.keyboard.press("0")
    group.locator("svg text").get_by_text("算出来 36").wait_for()
    status(box).get_by_text("算出来 36").wait_for()
    assert page.page.evaluate(ACTIVE) == active, "JupyterLab took the digit keys"


def test_numbers_and_hands_come_back_after_a_restart(page):
    page.page.evaluate(RESTART)
    page.page.evaluate(RUN_THESE, ["setup", "x1-guess", "aha-guess-8"])
    box = prediction(page, "x1-guess", "三个请求平均多少毫秒完成")
    status(box).get_by_text("数已记下。答案由下面的格子算出").wait_for()
    assert box.get_by_role("textbox").input_value() == "100/3"
    klass = prediction(page, "aha-guess-8", "八个座位")
    klass.get_by_role("button", name="70 %：3 只手").wait_for()
    page.page.evaluate(RUN_THESE, ["x1-load", "x1-requests", "x1-run", "x1-mean"])
    prediction(page, "x1-guess", "三个请求平均多少毫秒完成")
    status(box).get_by_text("正好").wait_for()  # the answer came when the cell below had run


def test_the_saved_page_without_a_kernel_shows_stills(page, lab, browser, notebook_class):
    page.page.evaluate(RUN_THESE, ["setup", "x1-load", "c08-both", "c08-panel"])
    page.show_cell("c08-panel")
    panel(page, TIMES)
    page.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(60_000)
    again = notebook_class(context.new_page()).open(
        f"{lab}/lab/workspaces/later/tree/notebooks/{NAME}.ipynb?reset"
    )
    again.show_cell("c08-panel")
    again.page.get_by_text("静态图：滑块要有运行中的内核才能拖动").first.wait_for(state="visible")
    assert again.page.get_by_alt_text("t₁ = 6 ms，t₂ = 18 ms").first.is_visible()
    again.show_cell("x1-guess")
    again.page.get_by_text("你猜 100/3 ≈ 33.33 ms").first.wait_for(state="visible")
    context.close()
