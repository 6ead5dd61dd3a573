"""The stepper in a real JupyterLab: moved by key, by drag and by play, and what is shown is read. The tests share one
page and go down it in order; the last ones take its kernel away, then its extension."""

import json
import urllib.request

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe

import labkit
from labkit.show.replay.frames import frames
from labkit.show.replay.sentences import Teller
from labkit.show.replay.still import replay_html

pytestmark = pytest.mark.browser

SIXTY = """{
    "schema": "labkit.scenario/1", "title": "sixty", "budget": {"tokens": 8, "seats": 3},
    "cost": {"kind": "linear", "fixed": 0.01, "per_token": 0.001},
    "requests": [{"id": f"r{at}", "arrival": at / 50, "prompt_tokens": 4, "output_tokens": 14 + at,
                  "prefilled": True} for at in range(9)]}"""
CELLS = {
    "pair": (
        "import labkit\n"
        "labkit.replay(labkit.run('x1_static'), labkit.run('x1_continuous'), names=['静态', '连续'])"
    ),
    "sixty": f"labkit.replay(labkit.run({SIXTY}))",
    "case03": "labkit.replay(labkit.run('case03_half_prompts'), lang='en')",
}
STEPPER = ".labkit-replay"
# Each time the browser paints: the step, the sentence and where everything stands.
WATCH = """root => {
  const seen = window.seen = {steps: [], heads: new Set(), boxes: new Set(), on: true};
  const look = () => {
    seen.steps.push(Number(root.dataset.step));
    seen.heads.add(root.querySelector('.lk-sentence strong').textContent);
    const parts = ['.lk-runs', '.lk-live', '.lk-legend', '.lk-table'].map((part) => root.querySelector(part));
    const boxes = parts.map((part) => part.getBoundingClientRect()).map((b) => [b.top, b.left, b.width, b.height]);
    seen.boxes.add(JSON.stringify([root.offsetHeight, ...boxes]));
    if (seen.on) requestAnimationFrame(look);
  };
  look();
}"""
SEEN = "() => { seen.on = false; return [[...new Set(seen.steps)], [...seen.heads], [...seen.boxes]]; }"
DRAWN = """root => [...root.querySelectorAll('.lk-run')].map((run) => [...run.querySelectorAll('[data-round]')]
  .filter((group) => group.style.display !== 'none')
  .map((group) => [...group.querySelectorAll('.lk-name')].map((text) => text.textContent).join('')))"""
FOCUS = """root => [...root.querySelectorAll('button, input, select, summary, [tabindex]')].map((one) => {
  one.focus({focusVisible: true});
  const style = getComputedStyle(one);
  const label = one.getAttribute('aria-label') || one.labels?.[0]?.textContent || one.textContent;
  const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
  const keeps = one.dataset.lmSuppressShortcuts === 'true';
  return [one.tagName, label.trim() !== '', outlined, keeps, document.activeElement === one];
})"""
SIZES = """root => [...root.querySelectorAll('*')]
  .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((each) => parseFloat(getComputedStyle(each).fontSize))"""
MOTION = """root => [...root.querySelectorAll('*')].map((each) => getComputedStyle(each))
  .map((style) => style.transitionDuration + style.animationName)"""
OUTPUTS = """[...document.querySelectorAll('.jp-OutputArea-child')]
  .filter((each) => each.offsetHeight > 20).map((each) => each.innerText.trim())"""
ACTIVE = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"
KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext"


def put(lab, path, **model):
    request = urllib.request.Request(f"{lab}/api/contents/{path}", json.dumps(model).encode(), method="PUT")
    with urllib.request.urlopen(request):
        pass


def sentences(run, lang="zh"):
    limits, found = frames(run.journal)
    return [Teller(limits, lang).sentence(frame) for frame in found]


@pytest.fixture(scope="module")
def opened(lab, browser, notebook_class):
    """A notebook with three steppers, run."""
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source, id=id_) for id_, source in CELLS.items()],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    put(lab, "notebooks/replay.ipynb", type="notebook", format="json", content=book)
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(60_000)
    page = notebook_class(context.new_page()).open(
        f"{lab}/lab/workspaces/replay/tree/notebooks/replay.ipynb?reset"
    )
    page.run_all()
    page.page.wait_for_function(f"document.querySelectorAll('{STEPPER}[data-step]').length === 3")
    yield page
    context.close()


@pytest.fixture
def page(opened):
    """The page, to which nobody outside was asked, and which complained of nothing, until the test's end."""
    yield opened
    assert opened.strangers == []
    assert opened.complaints == []


def stepper(page, at):
    """One of the steppers, at its first step."""
    root = page.page.locator(STEPPER).nth(at)
    root.scroll_into_view_if_needed()
    slider = root.get_by_role("slider")
    slider.focus()
    page.page.keyboard.press("Home")
    return root, slider


def says(root):
    return root.get_by_role("status").inner_text().split("\n\n")


def cells(root):
    """The seats that are drawn: for each shown round, the names in its lanes."""
    return root.evaluate(DRAWN)


def test_keys_step_both_runs_on_one_clock(page):
    root, slider = stepper(page, 0)
    before = page.page.evaluate(ACTIVE)
    static, continuous = (sentences(labkit.run(name)) for name in ("x1_static", "x1_continuous"))
    assert says(root) == [f"静态：{static[0]}", f"连续：{continuous[0]}"]
    assert cells(root) == [["AB"], ["AB"]]
    page.page.keyboard.press("ArrowRight")
    assert says(root) == [f"静态：{static[1]}", f"连续：{continuous[1]}"]
    assert "空座 1 个，却有人等" in says(root)[0]
    assert cells(root) == [["AB", "A"], ["AB", "AC"]]
    page.page.keyboard.press("End")
    assert says(root) == [f"静态：{static[5]}", f"连续：{continuous[4]}"]
    assert cells(root) == [["AB", "A", "A", "A", "C", ""], ["AB", "AC", "A", "A", ""]]
    page.page.keyboard.press("ArrowLeft")
    assert says(root) == [f"静态：{static[4]}", f"连续：{continuous[4]}"]
    assert slider.get_attribute("aria-valuetext") == "第 4 轮，40 ms 到 50 ms。结束，40 ms。"
    page.page.keyboard.press("p")
    assert root.get_attribute("data-step") == "3"
    page.page.keyboard.press("Home")
    page.page.keyboard.press("n")
    assert root.get_attribute("data-step") == "1"
    assert page.page.evaluate(ACTIVE) == before, "JupyterLab took the keys"
    assert page.page.evaluate("document.querySelectorAll('.jp-Notebook .jp-Cell').length") == 3


def test_queue_pages_and_totals_are_shown(page):
    root, _ = stepper(page, 2)
    for _ in range(2):
        page.page.keyboard.press("ArrowRight")
    assert root.get_by_role("list", name="Queue").locator("li").all_inner_texts() == [
        "Y it has just given way"
    ]
    assert root.locator(".lk-counts").inner_text() == "6 used, 0 promised, 0 shared, 0 cached, 8 in all"
    assert root.locator(".lk-map text").all_text_contents().count("X") == 6
    owned = root.locator(".lk-map .lk-owned")
    assert owned.count() == 6
    totals = dict(pair.split("\n") for pair in root.locator("dl div").all_inner_texts())
    assert totals == {"submitted": "2", "waiting": "1", "active": "0", "finished": "1", "tokens": "1"}
    assert root.locator(".lk-stop").count() > 1, "a mark where it gave way"
    names = root.get_by_role("img").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    assert names[0].startswith("Seats: Round 2, 20 ms to 30 ms. X prefills 8 after 16")
    assert names[1].startswith("Pages: 6 in use")


def test_a_drag_shows_every_step_and_nothing_jumps(page):
    root, slider = stepper(page, 1)
    told = sentences(labkit.run(eval(SIXTY)))
    last = int(root.get_attribute("data-steps")) - 1
    assert last == len(told) - 1 >= 60
    root.evaluate("root => root.scrollIntoView({block: 'start'})")
    box = slider.bounding_box()
    middle, left, right = box["y"] + box["height"] / 2, box["x"] + 8, box["x"] + box["width"] - 8
    root.evaluate(WATCH)
    page.page.mouse.move(left, middle)
    page.page.mouse.down()
    for at in range(181):
        page.page.mouse.move(left + (right - left) * at / 180, middle)
        page.page.wait_for_timeout(14)
    page.page.mouse.up()
    page.page.wait_for_function(
        "root => root.dataset.step === root.querySelector('input').max", arg=root.element_handle()
    )
    steps, heads, boxes = page.page.evaluate(SEEN)
    assert set(steps) == set(range(last + 1))
    assert len(heads) == last + 1
    assert len(boxes) == 1, "the layout jumped"
    assert says(root) == [told[-1]]


def test_it_plays_by_itself_until_its_end(page):
    root, _ = stepper(page, 1)
    speed = root.get_by_role("combobox", name="每秒步数")
    speed.select_option("60")
    root.evaluate(WATCH)
    root.get_by_role("button", name="播放").click()
    assert root.get_by_role("status").get_attribute("aria-live") == "off"
    assert root.get_by_role("button", name="暂停").is_visible()
    page.page.wait_for_function("root => root.dataset.playing === 'false'", arg=root.element_handle())
    steps, _, boxes = page.page.evaluate(SEEN)
    last = int(root.get_attribute("data-steps")) - 1
    assert steps[-1] == last
    assert len(steps) > last * 0.6, "frames may be left out at this speed, but not most of them"
    assert len(boxes) == 1
    assert root.get_by_role("status").get_attribute("aria-live") == "polite"
    slider = root.get_by_role("slider")
    slider.focus()
    page.page.keyboard.press("-")
    assert speed.input_value() == "30"
    page.page.keyboard.press(" ")
    assert root.get_attribute("data-playing") == "true"
    page.page.keyboard.press("ArrowLeft")
    assert root.get_attribute("data-playing") == "false"


def test_the_run_is_a_table_too(page):
    root, _ = stepper(page, 2)
    root.locator("summary").click()
    table = root.get_by_role(
        "table", name="Case 3: a pool full of half prompts under grow; one gives way and both finish"
    )
    table.wait_for()
    heads = table.get_by_role("columnheader").all_inner_texts()
    assert heads == ["Step", "Before", "Seats", "Waiting", "Pages", "Meanwhile", "Tokens and ends"]
    rows = table.get_by_role("row").all()[1:]
    limits, found = frames(labkit.run("case03_half_prompts").journal)
    for row, frame in zip(rows, found, strict=True):
        clauses = [clause.strip() for clause in Teller(limits, "en").clauses(frame).values()]
        assert [
            row.get_by_role("rowheader").inner_text(),
            *row.get_by_role("cell").all_inner_texts(),
        ] == clauses


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_serious(page, theme):
    axe = Axe()
    page.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    page.page.wait_for_function(
        "light => document.body.dataset.jpThemeLight === light", arg="true" if "Light" in theme else "false"
    )
    for root in page.page.locator(STEPPER).all():
        root.scroll_into_view_if_needed()
    found = axe.run(page.page, context=STEPPER).response
    assert len(found["passes"]) > 10
    serious = [
        (v["id"], [(node["html"][:120], node["failureSummary"]) for node in v["nodes"][:3]])
        for v in found["violations"]
        if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_all_that_takes_the_focus_shows_it_has_a_name_and_keeps_its_keys(page):
    found = page.page.locator(STEPPER).first.evaluate(FOCUS)
    assert len(found) >= 11
    assert [one for one in found if not all(one[1:])] == []
    sizes = page.page.locator(STEPPER).first.evaluate(SIZES)
    assert min(sizes) >= 12


def test_nothing_moves_by_itself_where_motion_is_reduced(page):
    page.page.emulate_media(reduced_motion="reduce")
    lengths = page.page.locator(STEPPER).first.evaluate(MOTION)
    page.page.emulate_media(reduced_motion="no-preference")
    assert set(lengths) == {"0snone"}


def test_it_goes_on_while_the_kernel_is_busy_and_after_it_is_gone(page):
    page.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.page.evaluate(
        f"() => {{ {KERNEL}.session.kernel.requestExecute({{code: 'import time; time.sleep(60)'}}); }}"
    )
    page.page.wait_for_function(f"{KERNEL}.session.kernel.status === 'busy'")
    root, _ = stepper(page, 0)
    for at in range(1, 6):
        page.page.keyboard.press("ArrowRight")
        assert root.get_attribute("data-step") == str(at)
    assert "结束，50 ms。" in says(root)[0]
    page.page.evaluate(f"async () => {{ await {KERNEL}.shutdown(); }}")
    for at in range(4, -1, -1):
        page.page.keyboard.press("ArrowLeft")
        assert root.get_attribute("data-step") == str(at)
    assert says(root)[0].startswith("静态：第 0 轮，0 ms 到 10 ms。")


def copy_works(page):
    """Look at the copies that stand alone: one line, and a stepper that steps, where the widget would be."""
    page.locator("iframe.labkit-replay-frame").first.wait_for(state="visible")
    outputs = page.evaluate(OUTPUTS)
    assert outputs[0] == "这里装不了小部件，或者没有内核。下面是同一次运行的独立副本，照样能一步一步看。"
    frame = page.frame_locator("iframe.labkit-replay-frame").first
    assert frame.locator(STEPPER).get_attribute("data-steps") == "6"
    frame.get_by_role("slider").press("ArrowRight")
    assert says(frame)[0] == f"静态：{sentences(labkit.run('x1_static'))[1]}"
    inside = frame.locator("html").evaluate("e => [e.scrollHeight, window.innerHeight]")
    assert inside[0] <= inside[1], "the copy has the height that it needs"


def test_a_reopened_notebook_without_a_kernel_shows_the_copy(page, lab, browser, notebook_class):
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(60_000)
    tree = f"{lab}/lab/workspaces/again/tree/notebooks/replay.ipynb?reset"
    again = notebook_class(context.new_page()).open(tree)
    copy_works(again.page)
    assert again.strangers == []
    context.close()


def test_lab_without_the_extension_shows_the_copy(lab, browser, notebook_class):
    """Disable it as an administrator does, in page_config.json of the server's own settings."""
    for folder in ("config", "config/labconfig"):
        put(lab, folder, type="directory")
    path = "config/labconfig/page_config.json"
    put(lab, path, type="file", format="text", content='{"disabledExtensions": {"anywidget": true}}')
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(60_000)
    try:
        tree = f"{lab}/lab/workspaces/without/tree/notebooks/replay.ipynb?reset"
        without = notebook_class(context.new_page()).open(tree)
        without.run_all()
        copy_works(without.page)
        assert without.strangers == []
    finally:
        context.close()
        put(lab, path, type="file", format="text", content="{}")


@pytest.fixture
def from_file(browser):
    """Open a local file where the network is refused; nothing may ask for it."""
    contexts = []

    def open_file(path, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 720}, **options)
        contexts.append(context)
        context.set_default_timeout(30_000)
        page, asked = context.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        context.route("http*://**", lambda route: route.abort())
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        return page, asked

    yield open_file
    for context in contexts:
        context.close()


def test_a_static_page_needs_no_network(from_file, tmp_path):
    path = tmp_path / "日 志.html"
    run = labkit.run("case05_swap_full")
    path.write_text(
        f"<!doctype html><meta charset=utf-8><body>{replay_html(run)}", encoding="utf-8", newline="\n"
    )
    for scheme in ("light", "dark"):
        page, asked = from_file(path, color_scheme=scheme)
        frame = page.frame_locator("iframe")
        slider = frame.get_by_role("slider")
        for sentence in sentences(run)[:5]:
            assert says(frame) == [sentence]
            slider.press("ArrowRight")
        assert [url for url in asked if not url.startswith("file:")] in ([], ["about:srcdoc"])
        ground = frame.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
        assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 22, 22)"}[scheme]
        axe = Axe()
        found = axe.run(page.frames[1]).response["violations"]
        assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []


def test_hostile_names_are_only_text(from_file, tmp_path):
    evil = '<img src=x onerror="window.top.evil=1">'
    journal = [
        json.loads(json.dumps(e).replace('"A"', json.dumps(evil))) for e in labkit.run("x1_static").journal
    ]
    path = tmp_path / "evil.html"
    path.write_text(f"<!doctype html><body>{replay_html(journal)}", encoding="utf-8", newline="\n")
    page, _ = from_file(path)
    frame = page.frame_locator("iframe")
    frame.locator("summary").click()
    assert frame.locator("img, script[src]").count() == 0
    assert '"<img src=x' in frame.get_by_role("table").inner_text()
    assert page.evaluate("window.evil") is None


def test_a_trace_of_200_requests_is_stepped(from_file, tmp_path):
    path = tmp_path / "trace.html"
    path.write_text(
        f"<!doctype html><body>{replay_html(labkit.run('small_trace', check=False))}",
        encoding="utf-8",
        newline="\n",
    )
    page, _ = from_file(path)
    frame = page.frame_locator("iframe")
    slider = frame.get_by_role("slider")
    slider.press("End")
    assert says(frame)[0].startswith("结束，")
    slider.evaluate("e => { e.value = 1500; e.dispatchEvent(new Event('input')); }")
    for _ in range(40):
        slider.press("ArrowRight")
    assert frame.locator(STEPPER).get_attribute("data-step") == "1540"
    assert frame.locator("[data-round]").count() < 200, "only what is in view is drawn"


def test_a_converted_notebook_shows_the_copy(from_file, tmp_path, monkeypatch):
    import IPython.display
    from nbconvert import HTMLExporter

    outputs = []
    monkeypatch.setattr(IPython.display, "publish_display_data", outputs.append)
    labkit.replay(
        labkit.run("x1_static"), labkit.run("x1_continuous"), names=["静态", "连续"]
    )._ipython_display_()
    cell = nbformat.v4.new_code_cell(
        "…", outputs=[nbformat.v4.new_output("display_data", data=data) for data in outputs]
    )
    text, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8", newline="\n")
    page, _ = from_file(path)
    copy_works(page)
