"""The `report` command: what it prints, what it refuses, and that its numbers are those of the measures."""

import html.parser
import json
import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import labkit
from labkit.engine import journal
from labkit.measure.goodput import Targets
from labkit.measure.metrics import measure
from labkit.show import report
from labkit.show.report_figures import MOST_TENANTS, _bars
from labkit.show.report_numbers import number, percent
from labkit.show.report_tables import sections

NASTY = "<script>alert('$x^{')</script>\u202e&\x1b[31m\""


@pytest.fixture
def write(tmp_path):
    """Return a function that runs a scenario and writes its journal."""

    def write_journal(scenario, name="run.jsonl"):
        path = tmp_path / name
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(journal.encode(event) + "\n" for event in labkit.run(scenario).journal)
        return str(path)

    return write_journal


def scenario(**changes):
    requests = [
        {
            "id": f"r{i}",
            "arrival": i / 100,
            "prompt_tokens": 8,
            "output_tokens": 4,
            "tenant": "red" if i % 2 else "blue",
        }
        for i in range(4)
    ]
    base = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 64, "seats": 2},
        "cost": {"kind": "linear", "fixed": 0.01},
        "requests": requests,
    }
    return base | changes


def call(capsys, *argv):
    status = report.main(["report", *argv])
    said = capsys.readouterr()
    return status, said.out, said.err


# ------------------------------------------------------------------------------------------------ tables


def test_the_tables_hold_the_measures(write, capsys):
    """X5, C06, C28, E31.8 on the terminal; a number that is printed is that of the metrics."""
    status, out, err = call(capsys, write("case05_swap_full"), "--lang", "en", "--target", "ttft=0.02")
    assert (status, err) == (0, "")
    metrics = measure(labkit.run("case05_swap_full").journal, Targets(ttft=20_000_000))
    assert re.search(
        r"goodput \(requests/s\) +3 on target +0.082 s +" + re.escape(number(metrics["goodput"])), out
    )
    assert re.search(r"on target, of the accepted +3 on target +4 accepted +75 % ", out)
    assert re.search(
        r"recompute ratio.* 12 positions computed again +39 positions computed first +0.3077", out
    )
    assert re.search(r"generated per executed.* 15 tokens +51 positions +0.2941", out)
    assert re.search(
        rf"queue \(all waits\) +{re.escape(number(metrics['queue_mean']))} .* equal$", out, re.MULTILINE
    )
    assert "unequal" not in out
    assert "On target: finished, with TTFT ≤ 0.02 s (worker)." in out


def test_every_ratio_is_its_numerator_over_its_denominator(write, capsys):
    """X5: in the tables of ratios every value follows from the two numbers beside it."""
    run = report.read(write("case05_swap_full"), "x", Targets(ttft=20_000_000))
    checked = 0
    for section in sections([run], Targets(ttft=20_000_000)):
        if section.key not in ("goodput", "flows", "work"):
            continue
        for name, above, below, value, population in section.table.rows:
            a, b, v = (
                float(re.match(r"[\d. ]+", text)[0].replace(" ", "")) for text in (above, below, value)
            )
            assert population
            assert v == pytest.approx(a / b * (100 if "%" in value else 1), rel=2e-3), name
            checked += 1
    assert checked == 20


def test_chinese_is_the_language_unless_asked_otherwise(write, capsys, monkeypatch):
    path = write("x1_continuous")
    assert "有效吞吐与分母" in call(capsys, path)[1]
    assert "Goodput and its denominators" in call(capsys, path, "--lang", "en")[1]
    monkeypatch.setenv("LABKIT_LANG", "en")
    assert "Goodput and its denominators" in call(capsys, path)[1]
    assert "有效吞吐与分母" in call(capsys, path, "--lang", "zh")[1]


def test_json_is_exact_and_whole(write, capsys):
    status, out, _ = call(capsys, write("case05_swap_full"), "--json")
    [run] = json.loads(out)["runs"]
    metrics = measure(labkit.run("case05_swap_full").journal)
    assert status == 0
    assert {k: v["exact"] for k, v in run["metrics"].items()} == {
        k: None if v is None else str(v) for k, v in metrics.items()
    }
    assert all(place["exact"] for place in run["little"])
    assert run["counts"]["finished"] == 4 and run["counts"]["planned"] == 4


def test_censored_percentiles_say_at_least(write, capsys):
    """C31: a run cut off at 30 ms: what has not ended shows as ≥, in the table and in the alternative text."""
    out = call(capsys, write(scenario(until=0.03)), "--lang", "en")[1]
    line = next(line for line in out.splitlines() if line.startswith("sojourn time T"))
    assert re.search(r" 4 +4 +undefined \(≥ [\d.]+\) +≥ [\d.]+ +≥ ", line)


def test_a_window_counts_what_is_in_it(write, capsys):
    """Two of four requests are sent in [0.005, 0.025); the window's length is 0.02 s."""
    out = call(capsys, write(scenario()), "--lang", "en", "--window", "0.005", "0.025")[1]
    assert re.search(r"submit rate \(requests/s\) +2 submitted +0.02 s +100 ", out)
    assert "Window 0.005 to 0.025 s." in out


@pytest.mark.parametrize(
    ("changes", "window", "known"),
    [
        ({}, ("5", "6"), False),  # it begins after everything is over
        ({}, ("0.01", "6"), True),  # the system stays empty
        ({"until": 0.03}, ("0.01", "6"), False),  # nobody knows how those still there went on
        ({"until": 0.03}, ("0.01", "0.02"), True),
    ],
)
def test_a_window_of_which_nothing_is_known_is_refused(write, capsys, changes, window, known):
    status, out, err = call(capsys, write(scenario(**changes)), "--window", *window)
    assert (status, bool(out)) == ((0, True) if known else (2, False))
    assert len(err.splitlines()) == (0 if known else 1)
    assert known or "expected a window in what run saw, 0 to" in err


def test_tenants_whose_names_begin_alike_keep_their_shares(write, capsys):
    """C24: four tenants with a quarter each, of which a cut name would make one."""
    run = scenario()
    for place, request in enumerate(run["requests"]):
        request["tenant"] = "the same long beginning of " + "abcd"[place]
    for unit, parts in [(u, p) for _, u, p in _bars([report.read(write(run), "x", Targets())])]:
        assert sum(parts.values()) == pytest.approx(1), unit
        assert len(parts) == 4


def test_every_bar_has_the_same_tenants(write):
    """Ten tenants: those with most over all bars by name, the rest together, the same in every bar."""
    run = scenario()
    first = run["requests"][0]
    run["requests"] = [{**first, "id": f"r{i}", "tenant": f"t{i}", "prompt_tokens": 30 - 3 * i, "output_tokens": 1 + i}
                       for i in range(10)]  # fmt: skip
    bars = [parts for _, _, parts in _bars([report.read(write(run), "x", Targets())])]
    assert len(bars) == 4
    assert {tuple(parts) for parts in bars} == {tuple(bars[0])}
    assert len(bars[0]) == MOST_TENANTS + 1
    assert all(sum(parts.values()) == pytest.approx(1) for parts in bars)


def test_a_window_without_a_round_draws_no_shares(write, capsys, tmp_path):
    status, _, err = call(capsys, write(scenario(requests=[
        {**scenario()["requests"][0], "arrival": 1 + i, "tenant": "ab"[i], "id": f"q{i}"} for i in range(2)
    ])), "--window", "0.1", "0.2", "--html", str(tmp_path / "x.html"))  # fmt: skip
    assert (status, err) == (0, "")
    assert 'id="figure-shares"' not in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_quality_is_a_target(write, capsys, tmp_path):
    ids = tmp_path / "good.txt"
    ids.write_text("r0\nr2\n", encoding="utf-8", newline="\n")
    out = call(capsys, write(scenario()), "--lang", "en", "--quality", str(ids))[1]
    assert re.search(r"on target, of all submitted +2 on target +4 submitted +50 %", out)
    assert "its quality passed" in out


def test_the_intended_start_has_rows_of_its_own(write, capsys):
    """C30, case 24: from the intended start the same requests took longer; both points are named."""
    out = call(capsys, write("case24_connections"), "--lang", "en")[1]
    rows = {
        line[27:59].strip(): line[59:].split()
        for line in out.splitlines()
        if line.startswith("time to first token")
    }
    assert list(rows) == ["worker and client", "client, from the intended start"]
    sent, intended = rows.values()
    assert float(intended[2]) > float(sent[2]) > 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "undefined"), (0, "0"), (3, "3"), (12345, "12 345"), (Fraction(5, 2), "2.5"),
        (Fraction(-1, 8), "-0.125"), (Fraction(1, 3), "0.3333"), (Fraction(2, 30000), "0.00006667"),
        (Fraction(1234567, 100), "12 346"),
    ],
)  # fmt: skip
def test_numbers_for_people(value, text, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "en")
    assert number(value) == text
    assert percent(Fraction(1, 8)) == "12.5 %"


# ------------------------------------------------------------------------------------------------ several journals


def test_two_policies_stand_side_by_side(write, capsys):
    """C31: one load under two policies: the compared field is named, and every row has its run."""
    paths = [write("x1_continuous", "a.jsonl"), write("x1_static", "b.jsonl")]
    status, out, err = call(capsys, *paths, "--lang", "en")
    assert (status, err) == (0, "")
    assert re.search(r"policy.batching +a +continuous +b +static", out)
    assert re.search(r"sojourn time T +a .* 23.33 ", out) and re.search(r"sojourn time T +b .* 33.33 ", out)


def test_an_unfair_pair_is_refused_with_a_line_each(write, capsys):
    """C31: exit 2, one line a difference, nothing on standard output, no page written."""
    other = scenario()
    other["requests"][1]["prompt_tokens"] = 9
    other["cost"] = {"kind": "linear", "fixed": 0.02}
    paths = [write(scenario(), "a.jsonl"), write(other, "b.jsonl")]
    status, out, err = call(capsys, *paths, "--html", paths[0] + ".html")
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "labkit report: not comparable: cost.fixed: 0.01 in a, 0.02 in b",
        "labkit report: not comparable: requests[r1].prompt_tokens: 8 in a, 9 in b",
    ]
    assert not Path(paths[0] + ".html").exists()


def test_files_of_one_name_are_told_apart(write, capsys, tmp_path):
    (tmp_path / "x").mkdir()
    paths = [write("x1_continuous", "a.jsonl"), write("x1_static", "x/a.jsonl")]
    assert call(capsys, *paths, "--lang", "en")[0] == 0
    names = report._names(paths)
    assert len(set(names)) == 2


# ------------------------------------------------------------------------------------------------ wrong input


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--target", "ttft"], "expected seconds"),
        (["--target", "ttft=fast"], 'given fast, expected seconds such as 0.5'),
        (["--target", "speed=1"], "given speed=1, expected once each"),
        (["--target", "ttft=1", "--target", "ttft=2"], "expected once each"),
        (["--target", "deadline=1"], "expected once each"),
        (["--window", "2", "1"], "expected an end after its start"),
        (["--window", "-1", "1"], "expected"),
        (["--quality", "nowhere.txt"], "--quality: given nowhere.txt"),
        (["--html", "/nowhere/x.html"], "expected a file to write"),
        (["--nonsense"], "unrecognized arguments"),
        (["--lang", "fr"], "invalid choice"),
    ],
)  # fmt: skip
def test_wrong_options_are_one_line(write, capsys, options, line):
    status, out, err = call(capsys, write("x1_continuous"), *options)
    assert (status, out) == (2, "")
    assert line in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "given an empty file"),
        ("hello\n", "a line that is not JSON"),
        ('{"schema":"labkit.scenario/1"}\n', "expected the first line"),
        (None, "can't be read"),
    ],
)
def test_what_is_no_journal_is_one_clear_line(tmp_path, capsys, text, line):
    path = tmp_path / "bad.jsonl"
    if text is not None:
        path.write_text(text, encoding="utf-8", newline="\n")
    status, out, err = call(capsys, str(path))
    assert (status, out) == (2, "")
    assert line in err and len(err.splitlines()) == 1


def test_an_impossible_event_names_its_line(write, capsys):
    path = write("x1_continuous")
    with open(path, encoding="utf-8") as stream:
        lines = [line for line in stream if '"event":"submit","t":0,"id":"B"' not in line]
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(lines)
    status, out, err = call(capsys, path)
    assert (status, out) == (2, "")
    assert re.search(r"run\.jsonl:\d+: .*'B', which is not in the system", err)


def test_a_cut_last_line_is_a_warning(write, capsys):
    path = write("x1_continuous")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text[:-20])
    status, out, err = call(capsys, path, "--lang", "en")
    assert status == 0 and out
    assert err.startswith("warning: ") and "cut short" in err


def test_a_journal_is_not_overwritten(write, capsys):
    path = write("x1_continuous")
    status, _, err = call(capsys, path, "--html", path)
    assert status == 2 and "which is read" in err


def test_standard_input_is_a_journal(write, capsys, monkeypatch):
    with open(write("x1_continuous"), "rb") as stream:
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": stream}))
        status, out, _ = call(capsys, "-", "--lang", "en")
    assert status == 0 and "X1, continuous" in out
    assert call(capsys, "-", "-")[0] == 2


def test_help_ends_well(capsys):
    assert call(capsys, "--help")[0] == 0


# ------------------------------------------------------------------------------------------------ the page


class Outline(html.parser.HTMLParser):
    """Every start tag with its attributes, and the text of the tables."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def all(self, tag):
        return [attrs for found, attrs in self.tags if found == tag]


def page_of(write, capsys, tmp_path, *scenarios, lang="en"):
    out = tmp_path / "page.html"
    paths = [write(s, f"{i}.jsonl") for i, s in enumerate(scenarios)]
    status, _, err = call(capsys, *paths, "--html", str(out), "--lang", lang)
    assert (status, err) == (0, "")
    return out.read_text(encoding="utf-8")


def test_the_page_stands_alone_and_can_be_read(write, capsys, tmp_path):
    """No script and nothing from elsewhere; language, headings, captions, scopes and alternative texts are there."""
    page = page_of(write, capsys, tmp_path, "case20_impatient")
    outline = Outline(page)
    assert not outline.all("script") and not outline.all("link") and not outline.all("iframe")
    assert outline.all("html") == [{"lang": "en"}]
    assert [tag for tag, _ in outline.tags if tag in ("h1", "h2")] == ["h1", "h2", "h2"]
    assert len(outline.all("caption")) == len(outline.all("table")) >= 10
    assert all(attrs["scope"] in ("col", "row") for attrs in outline.all("th"))
    images = outline.all("img")
    assert len(images) >= 7
    assert all(i["src"].startswith("data:image/png;base64,") and len(i["alt"]) > 20 for i in images)
    assert not re.search(r"https?://", page)
    ids = [attrs["id"] for _, attrs in outline.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {a["href"] for a in outline.all("a")} == {f"#{name}" for name in ids}
    assert Outline(page_of(write, capsys, tmp_path, "x1_static", lang="zh")).all("html") == [
        {"lang": "zh-CN"}
    ]


def test_hostile_names_stay_text(write, capsys, tmp_path):
    """Ids, tenants and titles are from outside: no tag, no escape sequence, no formula comes of them."""
    text = json.dumps(labkit.run(scenario()).journal)
    text = text.replace('"red"', json.dumps(NASTY)).replace('"r1"', json.dumps(NASTY + "1"))
    lines = json.loads(text)
    lines[0]["scenario"]["title"] = NASTY
    path = tmp_path / "nasty.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8", newline="\n")
    status, out, err = call(capsys, str(path), "--html", str(tmp_path / "page.html"), "--lang", "en")
    assert (status, err) == (0, "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not Outline(page).all("script")
    assert page.count("&lt;script&gt;alert(&#x27;$x^{&#x27;)") >= 4
    for said in (page, out):
        assert "\x1b" not in said and "\u202e" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows allows no such file name")
def test_hostile_file_names_stay_text(write, capsys, tmp_path):
    paths = [write("x1_continuous", "<b>$x^{.jsonl"), write("x1_static", "<i>&.jsonl")]
    assert call(capsys, *paths, "--html", str(tmp_path / "page.html"))[0] == 0
    outline = Outline((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert not outline.all("b") and not outline.all("i")


def test_figures_follow_the_run(write, capsys, tmp_path):
    """A backlog is drawn where output was ever behind, tenants where there are two, a timeline where it is small."""

    def figures(*scenarios):
        return [a["id"] for a in Outline(page_of(write, capsys, tmp_path, *scenarios)).all("figure")]

    always = ["figure-tail", "figure-queue", "figure-rounds", "figure-gaps", "figure-pages"]
    assert figures("x1_continuous") == ["figure-timeline", *always]
    assert figures("case20_slow_reader") == ["figure-timeline", *always, "figure-backlog"]
    assert figures(scenario()) == ["figure-timeline", *always, "figure-shares"]
    many = [{"id": str(i), "arrival": 0, "prompt_tokens": 1, "output_tokens": 1} for i in range(30)]
    assert figures(scenario(requests=many)) == [f for f in always if f != "figure-gaps"]
    assert figures(
        scenario(requests=many[:2]), scenario(requests=many[:2], budget={"tokens": 64, "seats": 1})
    )[:2] == [
        "figure-timeline-1",
        "figure-timeline-2",
    ]


def test_a_run_in_which_nothing_ran_has_a_page(write, capsys, tmp_path):
    one = [{"id": "A", "arrival": 0, "prompt_tokens": 500, "output_tokens": 1}]
    page = page_of(write, capsys, tmp_path, scenario(requests=one))
    assert "rejected" in page and "undefined" in page
