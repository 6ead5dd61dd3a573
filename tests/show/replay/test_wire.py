"""What travels to the browser, and the copy that stands alone: bounded, complete, and safe with hostile names."""

import html
import json
import re
import sys
from html.parser import HTMLParser

import pytest

import labkit
from labkit.engine.journal import writer
from labkit.show.replay import still, wire
from labkit.show.replay.frames import frames
from labkit.show.replay.sentences import Teller
from labkit.show.replay.still import document, replay_html

EVIL = '</script><img src=x onerror="alert(1)">\'&\u2028\ud800'


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def tags(text):
    parser = Tags()
    parser.feed(text)
    return parser.found


def packed(*names, lang="zh"):
    return wire.pack({name: labkit.run(name, check=False).journal for name in names}, lang)


def renamed(journal, new):
    """Return the journal with request A under another name, and that name as its title."""
    text = [json.loads(json.dumps(event).replace('"A"', json.dumps(new))) for event in journal]
    text[0]["scenario"]["title"] = new
    return text


def test_it_comes_back_as_it_was():
    sent = packed("x1_static", "x1_continuous")
    assert wire.decode(wire.encode(sent)) == json.loads(json.dumps(sent))


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_clauses_are_those_of_the_text(lang):
    journal = labkit.run("case05_swap_full").journal
    limits, found = frames(journal)
    [run] = wire.pack({"": journal}, lang)["runs"]
    assert [frame["says"] for frame in run["frames"]] == [
        list(Teller(limits, lang).clauses(frame).values()) for frame in found
    ]
    assert run["name"] == limits.title


def test_a_frame_holds_what_is_drawn():
    [run] = packed("case03_half_prompts")["runs"]
    second = run["frames"][2]
    assert second["seats"] == [[0, 0, "prefill", 8, 16, 24, 1, 0]]
    assert run["ids"] == ["X", "Y"]
    assert run["asked"][0] == (24, 1)
    assert second["queue"] == [[1, list(wire.WAITS).index("preempted"), 0]]
    assert second["gone"] == [[1, 20_000_000, 0], [0, 30_000_000, 1]]
    assert second["tokens"] == [0]
    cells = [run["states"][state] for state, length in second["cells"] for _ in range(length)]
    assert len(cells) == 8
    assert sum(owners for _, owners, _, _ in cells) == second["pages"][0] == 6


def test_a_very_long_run_is_cut_with_a_line(monkeypatch):
    monkeypatch.setattr(wire, "MOST_STEPS", 50)
    [run] = packed("small_trace", lang="en")["runs"]
    assert len(run["frames"]) == 50
    assert run["cut"].startswith("The first 50 of 3,")
    monkeypatch.undo()
    monkeypatch.setattr(wire, "MOST_BYTES", 30_000)
    sent = packed("small_trace")
    data = wire.encode(sent)
    assert len(data) <= 30_000
    [run] = wire.decode(data)["runs"]
    assert 20 < len(run["frames"]) < run["total"]
    assert f"{len(run['frames']):,}" in run["cut"]


def test_two_hundred_requests_fit_easily():
    sent = packed("small_trace")
    assert len(wire.encode(sent)) < wire.MOST_BYTES / 2
    assert not sent["runs"][0]["cut"]


def test_what_can_be_given(tmp_path):
    run = labkit.run("x1_static")
    path = tmp_path / "j.jsonl"
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps(run.journal[0]) + "\n")
        for event in run.journal[1:]:
            writer(stream)(event)
    for given in (run, run.journal, path, str(path)):
        assert list(wire.journals(given).values()) == [run.journal]
    assert list(wire.journals(run, run)) == [
        "X1, static batching: 40, 10, 50 ms A",
        "X1, static batching: 40, 10, 50 ms B",
    ]
    assert list(wire.journals(run, run, ["静态", "连续"])) == ["静态", "连续"]
    assert list(wire.journals({"one": run, "two": path})) == ["one", "two"]
    for wrong in (run.result, 3, [], [{}]):
        with pytest.raises(TypeError, match="without a journal"):
            wire.journals(wrong)
    with pytest.raises(ValueError, match="1 names for 2 runs"):
        wire.journals(run, run, ["one"])
    with pytest.raises(labkit.scenario.InputError, match=r"nowhere\.jsonl"):
        wire.journals(tmp_path / "nowhere.jsonl")


def test_the_copy_stands_alone():
    text = replay_html(labkit.run("x1_static"), labkit.run("x1_continuous"), names=["静态", "连续"])
    frame = re.fullmatch(
        r'<iframe class="[\w-]+" title="([^"]*)" sandbox="allow-scripts" loading="lazy" '
        r'srcdoc="([^"]*)" style="[^"]*"></iframe>',
        text,
    )
    assert frame[1] == "逐轮回放：静态、连续"
    page = html.unescape(frame[2])
    assert "default-src 'none'" in page
    assert not re.findall(r"\b(?:src|href|@import|url)\s*[=(]\s*[\"']?(?:https?:|//)", page)
    assert set(re.findall(r"https?://[\w./]+", page)) == {"http://www.w3.org/2000/svg"}
    assert page.count("<script") == page.count("</script") == 1
    assert "import " not in still.script().replace("@import", "")
    assert "fetch(" not in page


def test_hostile_names_stay_data():
    journal = renamed(labkit.run("x1_static").journal, EVIL)
    sent = wire.pack({EVIL: journal}, "zh")
    page = document(sent, wire.encode(sent))
    assert page.count("</script") == 1
    [(tag, attributes)] = tags(replay_html(journal))
    assert tag == "iframe"
    assert set(attributes) == {"class", "title", "sandbox", "loading", "srcdoc", "style"}
    inner = tags(attributes["srcdoc"])
    assert [tag for tag, _ in inner] == [
        "html",
        "head",
        "meta",
        "meta",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "script",
    ]
    assert not any(key.startswith("on") for _, given in inner for key in given)
    page.encode("utf-8")
    scripts = still.script()
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", scripts)


def test_the_bundle_holds_the_widget_and_the_copy():
    pytest.importorskip("anywidget")
    shown = labkit.replay(labkit.run("x1_static"), lang="en")
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert "<iframe" in bundle["text/html"]
    assert "Widgets can&#x27;t load here" in bundle["text/html"]
    assert bundle["text/plain"] == "Replay, round by round: X1, static batching: 40, 10, 50 ms: 6 steps"
    assert wire.decode(shown.widget.data)["runs"][0]["total"] == 6
    assert shown.widget.still in bundle["text/html"]


def test_a_notebook_gets_both_as_outputs_of_their_own(monkeypatch):
    pytest.importorskip("anywidget")
    import IPython.display

    published = []
    monkeypatch.setattr(IPython.display, "publish_display_data", published.append)
    labkit.replay(labkit.run("x1_static"))._ipython_display_()
    widget, copy = published
    assert "application/vnd.jupyter.widget-view+json" in widget
    assert "text/html" not in widget
    assert copy["text/html"].startswith("<style>")
    assert ":has(.labkit-replay)" in copy["text/html"]


def test_without_widgets_the_copy_remains(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    from labkit.show.replay import widget

    widget.widget_class.cache_clear()
    shown = labkit.replay(labkit.run("x1_static"))
    assert set(shown._repr_mimebundle_()) == {"text/html", "text/plain"}
    assert "<style>.labkit-still" not in shown._repr_mimebundle_()["text/html"]


def test_public_names():
    from labkit import show

    assert labkit.replay.__module__ == "labkit.show.replay.widget"
    assert show.replay_html is still.replay_html
    with pytest.raises(AttributeError, match="has no 'nothing'"):
        _ = show.replay.nothing


def test_telling_needs_no_widgets_and_no_figures():
    import subprocess

    code = (
        "import sys\nfor name in ('anywidget', 'matplotlib', 'numpy', 'IPython'): sys.modules[name] = None\n"
        "import labkit\nfrom labkit.show.replay.sentences import Narrator\n"
        "from labkit.show.replay.still import replay_html\n"
        "print(len(replay_html(labkit.run('x1_static'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10_000
