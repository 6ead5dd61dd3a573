"""A report's page in a real browser: nothing is fetched, nothing is cut, and axe finds no fault."""

import pytest

import labkit
from labkit.engine import journal
from labkit.show import report

TALL = """[...document.querySelectorAll("td:not(.words)")]
    .filter((cell) => { const r = document.createRange(); r.selectNodeContents(cell);
                        return new Set([...r.getClientRects()].map((box) => box.top)).size > 1; })
    .map((cell) => cell.textContent)"""


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(tmp_path, browser, capsys, scheme):
    """Two runs side by side, wide and narrow: no scroll bar across, no request, no message, every picture drawn."""
    from axe_playwright_python.sync_playwright import Axe

    paths = []
    for name in ("x1_continuous", "x1_static"):
        paths.append(tmp_path / f"{name}.jsonl")
        lines = "".join(journal.encode(event) + "\n" for event in labkit.run(name).journal)
        paths[-1].write_text(lines, encoding="utf-8", newline="\n")
    out = tmp_path / "page.html"
    assert report.main(["report", *map(str, paths), "--html", str(out)]) == 0
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    try:
        heard, fetched = [], []
        page.on("console", lambda message: heard.append(message.text))
        page.on("request", lambda request: fetched.append(request.url[:30]))
        page.goto(out.as_uri())
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            drawn = page.evaluate("[...document.images].map((image) => image.clientWidth)")
            assert min(drawn) >= 600  # narrower, words in it are too small to read: then it scrolls
            tall = page.evaluate(TALL)
            assert tall == []  # a number stays on one line
        assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 700)")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"][:80] for node in one["nodes"]]) for one in found] == []
        assert heard == []
        assert [url for url in fetched if not url.startswith(("file:", "data:"))] == []
    finally:
        page.close()
