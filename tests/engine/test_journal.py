"""The journal: what is written fits its schema, is the same twice, and is enough for all that is read from it."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from labkit.core.errors import InputError
from labkit.engine import journal
from labkit.measure.result import ResultFold
from labkit.scenario import command, names, run
from tests import oracle

ROOT = Path(__file__).parents[2]
LIBRARY = [name for name in names() if name != "small_trace"]  # that one is long; two tests take it too
ENDS = {"finish", "reject", "cancel", "expire", "fail"}
WILD = [
    "plain",
    'quo"te',
    "back\\slash",
    "请求一",
    "🚀 rocket",
    "é/\u2028~",
    "'single'",
    "</script>",
    "a" * 200,
]


@pytest.fixture
def call(capsys):
    def called(*argv: object):
        status = command.main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        return status, out, err

    return called


def small(**changes: object) -> dict:
    """Three requests on three pages: A grows at B's and C's expense; C is cancelled at 25 ms."""
    scenario = {
        "schema": "labkit.scenario/1",
        "title": "small",
        "budget": {"tokens": 16, "seats": 3, "kv_bytes": 6, "page_tokens": 2, "bytes_per_token": 1},
        "policy": {"admission": "grow", "preemption": "recompute"},
        "cost": {"kind": "linear", "fixed": 0.01},
        "requests": [
            {"id": "A", "arrival": 0, "prompt_tokens": 2, "output_tokens": 4},
            {"id": "B", "arrival": 0, "prompt_tokens": 2, "output_tokens": 4},
            {"id": "C", "arrival": 0, "prompt_tokens": 2, "output_tokens": 4, "cancel_at": 0.025},
        ],
    }
    return scenario | changes


def written(events: list[dict]) -> str:
    """The file: header, then each event as the sink writes it."""
    stream = io.StringIO()
    sink = journal.writer(stream)
    stream.write(journal.encode(events[0]) + "\n")
    for event in events[1:]:
        sink(event)
    return stream.getvalue()


def parsed(text: str) -> list[dict]:
    return list(journal.parse(io.BytesIO(text.encode("utf-8", "surrogatepass")), "j"))


# ------------------------------------------------------------------------------------------------ what is written


@pytest.mark.parametrize("name", [*LIBRARY, "small_trace"])
def test_every_line_fits_the_schema_and_is_read_back_as_it_was(name: str, tmp_path: Path):
    done = run(name)
    path = tmp_path / "j.jsonl"
    path.write_text(written(done.journal), encoding="utf-8", newline="\n")
    back = list(journal.read(path))
    assert back == done.journal
    assert back[0]["schema"] == "labkit.journal/1"
    assert back[0]["unit"] == "ns"
    assert back[0]["executor"] == {"kind": "virtual"}
    fold = ResultFold()
    journal.follow(back, "j", fold.feed)
    assert fold.result() == done.result


def test_the_schema_as_shipped_says_the_same_to_a_general_validator():
    """The reader compiles each kind of line; the file as a whole, with its `oneOf`, is a schema anyone can use."""
    schema = journal.schema()
    jsonschema.Draft7Validator.check_schema(schema)
    whole = jsonschema.Draft7Validator(schema)
    seen = Counter[str]()
    for name in ("case05_swap_full", "case20_slow_reader", "case09_two_tenants", "case14_cancel_waiting"):
        for event in run(name).journal:
            whole.validate(event)
            seen[event.get("event", "header")] += 1
    assert {"header", "submit", "admit", "step", "plan", "pages", "round", "token", "finish"} <= set(seen)
    assert {"release", "preempt", "swap_out", "swap_in", "deliver", "pause", "resume", "cancel"} <= set(seen)


OPTIONAL = {
    "wake": {"at", "seats"},
    "submit": {"intended"},
    "token": {"token", "text"},
    "round": {"end", "lost"},
}


def test_every_kind_of_event_is_in_the_schema_and_closed():
    """A field that the schema doesn't know is refused, a field that it knows is required."""
    lines = journal.schema()["lines"]
    assert len(lines) == 24
    for kind, line in lines.items():
        assert line["additionalProperties"] is False, kind
        optional = OPTIONAL.get(kind, set())
        assert set(line["required"]) == set(line["properties"]) - optional, kind


@pytest.mark.parametrize(
    "name", ["case05_swap_full", "case20_slow_reader", "case09_two_tenants", "small_trace"]
)
def test_two_runs_are_equal_to_the_byte(name: str):
    assert written(run(name).journal) == written(run(name).journal)


def test_two_processes_are_equal_to_the_byte(tmp_path: Path):
    """Another hash seed, another process: the same bytes."""
    files = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for seed, path in enumerate(files, start=1):
        done = subprocess.run(
            [sys.executable, "-m", "labkit", "run", "case05_swap_full", "--json", "--journal", str(path)],
            cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("name", LIBRARY)
def test_replay_of_the_file_is_run_to_the_byte(name: str, call, tmp_path: Path):
    path = tmp_path / "j.jsonl"
    ran = call("run", name, "--json", "--journal", path)
    assert ran[0] == 0
    assert call("replay", path, "--json") == ran
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == run(name).journal


def test_replay_in_a_process_of_its_own(tmp_path: Path):
    path = tmp_path / "请求 journal.jsonl"
    outputs = []
    for command_line in (
        ["run", "case05_swap_full", "--json", "--journal", str(path)],
        ["replay", str(path), "--json"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "labkit", *command_line],
            cwd=ROOT,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] != b""


@pytest.mark.parametrize("name", WILD)
def test_the_short_way_of_token_and_step_lines_is_the_long_one(name: str):
    big = 2**63 - 1
    events = [
        {"event": "token", "t": 0, "id": name, "epoch": 0, "index": 1},
        {"event": "token", "t": big, "id": name, "epoch": 2**53 - 1, "index": 2**53 - 1},
        *({"event": "step", "t": at, "step": f"A{at}"} for at in range(1, 8)),
    ]
    stream = io.StringIO()
    sink = journal.writer(stream)
    for event in events:
        sink(event)
    assert stream.getvalue() == "".join(journal.encode(event) + "\n" for event in events)
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == events
    assert stream.getvalue().isascii()


def test_wild_names_go_all_the_way(call, tmp_path: Path):
    wild = [name for name in WILD if name.isprintable()]  # a scenario lets no others in
    requests = [
        {"id": name, "arrival": at / 100, "prompt_tokens": 2, "output_tokens": 2, "tenant": f"t{name}"[:200]}
        for at, name in enumerate(wild)
    ]
    path, out = tmp_path / "s.json", tmp_path / "j.jsonl"
    path.write_text(
        json.dumps(small(title="标题 \"'\\", requests=requests), ensure_ascii=False),
        encoding="utf-8",
        newline="\n",
    )
    ran = call("run", path, "--json", "--journal", out)
    assert ran[::2] == (0, "")
    assert call("replay", out, "--json") == ran
    assert [request["id"] for request in json.loads(ran[1])["requests"]] == wild


def test_written_lines_are_those_of_the_general_encoder():
    events = run(small()).journal
    assert written(events) == "".join(journal.encode(event) + "\n" for event in events)
    assert {event["event"] for event in events[1:]} >= {"preempt", "cancel", "token", "release"}


# ------------------------------------------------------------------------------------------------ what is read


def test_a_last_line_cut_anywhere_is_left_out_with_a_warning():
    """Near both ends and inside; a cut of the newline alone has lost nothing."""
    text = written(run(small()).journal)
    lines = text.splitlines(keepends=True)
    for last in (len(lines), len(lines) - 1, 2):
        before, line = "".join(lines[: last - 1]), lines[last - 1]
        whole = parsed(before)
        for cut in sorted({1, 2, len(line) // 3, len(line) // 2, len(line) - 3, len(line) - 2}):
            with pytest.warns(journal.CutShort, match=rf"^j:{last}: the last line is cut short"):
                assert parsed(before + line[:cut]) == whole
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert parsed(before + line[:-1]) == [*whole, json.loads(line)]
            assert parsed(before) == whole


def test_a_cut_journal_is_folded_as_far_as_it_goes(call, tmp_path: Path):
    text = written(run(small()).journal)
    path = tmp_path / "j.jsonl"
    path.write_text(text[:-20], encoding="utf-8", newline="\n")
    status, out, err = call("replay", path, "--json")
    number = text.count("\n")
    assert (status, err) == (0, f"warning: {path}:{number}: the last line is cut short and is left out\n")
    fold = ResultFold()
    for line in text.splitlines()[1:-1]:
        fold.feed(json.loads(line))
    assert out == journal.encode(fold.result()) + "\n"


def test_a_journal_cut_inside_a_run_says_who_is_unfinished(call, tmp_path: Path):
    lines = written(run(small()).journal).splitlines(keepends=True)
    first_token = next(at for at, line in enumerate(lines) if '"token"' in line)
    path = tmp_path / "j.jsonl"
    path.write_text("".join(lines[: first_token + 1]), encoding="utf-8", newline="\n")
    status, out, _ = call("replay", path, "--json")
    result = json.loads(out)
    assert status == 0
    assert [row["outcome"] for row in result["requests"]] == ["unfinished"] * 3
    assert result["summary"]["unfinished"] == 3


def spoilt(at: int, how) -> str:
    """The small journal with one line (from 1) changed by `how`, which gets its text and may give several lines."""
    lines = written(run(small()).journal).splitlines()
    lines[at - 1 : at] = [how(lines[at - 1])]
    return "".join(line + "\n" for line in lines)


def at_first(kind: str) -> int:
    """The number of the first line of a kind."""
    return next(n for n, event in enumerate(run(small()).journal, start=1) if event.get("event") == kind)


def with_(**fields: object):
    return lambda line: journal.encode(json.loads(line) | fields)


def without(field: str):
    def how(line: str) -> str:
        event = json.loads(line)
        del event[field]
        return journal.encode(event)

    return how


def twice(line: str) -> str:
    return f"{line}\n{line}"


# name: (kind of the first line that is changed, what is done to it, lines further down that is noticed)
WRONG = {
    "not JSON": ("token", lambda line: line[:-5], 0),
    "an empty line": ("token", lambda line: "", 0),
    "not an object": ("token", lambda line: "[1,2]", 0),
    "a bare word": ("token", lambda line: '"token"', 0),
    "a number too long to read": ("token", lambda line: line.replace('"t":', '"t":' + "9" * 5000), 0),
    "NaN": ("token", lambda line: line.replace('"index":1', '"index":NaN'), 0),
    "infinity": ("token", lambda line: line.replace('"index":1', '"index":Infinity'), 0),
    "nested without end": ("token", lambda line: "[" * 100_000 + "]" * 100_000, 0),
    "null bytes": ("token", lambda line: "\0" * 40, 0),
    "two events on a line": ("token", lambda line: line + line, 0),
    "the wrong type": ("token", with_(index="1"), 0),
    "a truth value for a number": ("token", with_(epoch=True), 0),
    "half a nanosecond": ("token", with_(t=0.5), 0),
    "negative time": ("token", with_(t=-1), 0),
    "time beyond all clocks": ("token", with_(t=10**31), 0),
    "index 0": ("token", with_(index=0), 0),
    "an id that is none": ("token", with_(id=""), 0),
    "an endless id": ("token", with_(id="x" * 201), 0),
    "an unknown event": ("token", with_(event="tokn"), 0),
    "an event that is no text": ("token", with_(event=7), 0),
    "no event": ("token", without("event"), 0),
    "an unknown field": ("token", with_(colour="red"), 0),
    "a missing field": ("token", without("epoch"), 0),
    "an unknown step": ("step", with_(step="A8"), 0),
    "an unknown reason to wait": ("plan", with_(notes=[["A", "boredom"]]), 0),
    "half an item": ("plan", with_(items=[["A", 2]]), 0),
    "a page without generation": ("pages", with_(pages=[[0]]), 0),
    "a second header": ("token", lambda line: written(run(small()).journal).splitlines()[0], 0),
    "time that goes back": ("token", with_(t=0), 0),
    "a token twice": ("token", twice, 1),
    "a token left out": ("token", with_(index=2), 0),
    "a token of nobody": ("token", with_(id="Z"), 0),
    "an end of nobody": ("finish", with_(id="Z"), 0),
    "an end twice": ("cancel", twice, 1),
    "a request submitted twice": ("submit", twice, 1),
    "an admission of nobody": ("admit", with_(id="Z"), 0),
    "a preemption of nobody": ("preempt", with_(id="Z"), 0),
    "a delivery of a token that was never out": (
        "token",
        lambda line: journal.encode({"event": "deliver", "t": 10**7, "id": "A", "index": 2, "at": 10**7}),
        0,
    ),
}


# Every fault once, and some of each kind (no JSON, no schema, no sense) in the other forms.
FORMS = [(what, "--json") for what in WRONG]
FORMS += [
    (what, form) for what in ("not JSON", "the wrong type", "a token twice") for form in ("--text", None)
]


@pytest.mark.parametrize(("what", "form"), FORMS)
def test_a_wrong_line_is_named_and_nothing_is_printed(what: str, form: str | None, call, tmp_path: Path):
    kind, how, later = WRONG[what]
    number = at_first(kind)
    path = tmp_path / "j.jsonl"
    path.write_text(spoilt(number, how), encoding="utf-8", newline="\n")
    status, out, err = call("replay", path, *([form] if form else []))
    assert (status, out) == (2, "")
    assert err.startswith(f"{path}:{number + later}: ")
    assert err.count("\n") == 1
    assert err[:-1].isprintable()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("\n", ":1"),
        ("{}\n", ":1"),
        ('{"schema":"labkit.journal/2"}\n', ":1"),
        ('{"schema":"labkit.scenario/1"}\n', ":1"),
        ('{"schema":"labkit.journal/1"}\n', ":1"),
        ('{"schema":"labkit.jour', ":1"),
        ('{"event":"token","t":0,"id":"A","epoch":0,"index":1}\n', ":1"),
        ("%PDF-1.7\n", ":1"),
    ],
)
def test_what_is_no_journal(text: str, line: str, call, tmp_path: Path):
    path = tmp_path / "j.jsonl"
    path.write_text(text, encoding="utf-8", newline="\n")
    status, out, err = call("replay", path, "--json")
    assert (status, out) == (2, "")
    assert err.startswith(f"{path}{line}: ")
    assert "given " in err
    assert err.count("\n") == 1
    with pytest.raises(InputError):
        list(journal.read(path))


def test_without_its_header_a_journal_is_none(call, tmp_path: Path):
    path = tmp_path / "j.jsonl"
    path.write_text(written(run(small()).journal).split("\n", 1)[1], encoding="utf-8", newline="\n")
    status, out, err = call("replay", path, "--json")
    assert (status, out) == (2, "")
    assert err.startswith(f"{path}:1: given ")


GARBAGE = bytes(random.Random(1).randrange(256) for _ in range(4096))


def test_garbage_from_the_first_byte(call, tmp_path: Path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b"\x83" + GARBAGE)
    status, out, err = call("replay", path, "--json")
    assert (status, out) == (2, "")
    assert err.startswith(f"{path}:1: given ")
    assert err.count("\n") == 1


def test_garbage_further_down_is_named_by_its_line(call, tmp_path: Path):
    lines = written(run(small()).journal).encode().splitlines(keepends=True)
    lines[4] = lines[4][:10] + b"\xff\xfe\x83" + lines[4][10:]
    path = tmp_path / "j.jsonl"
    path.write_bytes(b"".join(lines))
    status, out, err = call("replay", path, "--json")
    assert (status, out) == (2, "")
    assert err.startswith(f"{path}:5: given ")


def test_garbage_on_standard_input():
    done = subprocess.run(
        [sys.executable, "-m", "labkit", "replay", "-", "--json"],
        cwd=ROOT, input=b"\x83" + GARBAGE, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" not in done.stderr
    assert done.stderr.startswith(b"standard input:1: given ")


@pytest.mark.parametrize("where", ["nowhere.jsonl", "."])
def test_a_file_that_is_not_there(where: str, call, tmp_path: Path):
    status, out, err = call("replay", tmp_path / where, "--json")
    assert (status, out) == (2, "")
    assert "can't be read" in err
    assert err.count("\n") == 1


# ------------------------------------------------------------------------------------------------ conservation


class Ledger:
    """Pages, positions and tokens as the journal alone tells them, by the text of laws 2, 5, 6, 7 and 10."""

    def __init__(self, header: dict) -> None:
        budget = header["scenario"]["budget"]
        self.page_tokens = budget.get("page_tokens", 16)
        self.page_bytes = self.page_tokens * budget.get("bytes_per_token", 65536)
        memory = budget.get("kv_bytes")
        self.pool = None if memory is None else (memory - budget.get("workspace_bytes", 0)) // self.page_bytes
        self.submits: dict[str, dict] = {}
        self.state: dict[str, str] = {}  # waiting, active, leaving (preempted), or how it ended
        self.preemptions: Counter[str] = Counter()
        self.context: dict[str, int] = {}
        self.tables: dict[str, list[tuple[int, int]]] = {}
        self.holders: Counter[tuple[int, int]] = Counter()
        self.newest: dict[int, int] = {}  # generation of each page
        self.filled: set[tuple[int, int]] = set()  # by rounds that have ended
        self.host: dict[str, int] = {}
        self.tokens: Counter[str] = Counter()
        self.delivered: Counter[str] = Counter()
        self.depth = header["scenario"].get("policy", {}).get("pipeline_depth", 1)
        self.plans: dict[int, list] = {}
        self.losing = False
        self.held: set[tuple[int, int]] = set()  # given back while a round in flight or a swap may touch them
        self.seen: Counter[str] = Counter()

    @property
    def owned(self) -> int:
        return sum(1 for count in self.holders.values() if count)

    def feed(self, event: dict) -> None:
        kind = event["event"]
        self.seen[kind] += 1
        getattr(self, "on_" + kind, lambda event: None)(event)
        if "epoch" in event:
            # Law 5: the epoch is the number of preemptions; what belongs to one is still of the older epoch.
            older = kind in ("preempt", "swap_out", "release") and self.state[event["id"]] == "leaving"
            assert event["epoch"] == self.preemptions[event["id"]] - older

    def on_submit(self, event: dict) -> None:
        name = event["id"]
        assert name not in self.submits
        self.submits[name], self.state[name], self.tables[name] = event, "waiting", []

    def on_admit(self, event: dict) -> None:
        name = event["id"]
        assert self.state[name] in ("waiting", "leaving")
        assert not self.tables[name]
        assert event["cached"] == len(event["shared"]) * self.page_tokens
        self.state[name], self.context[name] = "active", event["context"]
        for ref in map(tuple, event["shared"]):
            assert ref in self.filled, "law 10: shared before a round had filled it"
            assert self.newest[ref[0]] == ref[1], "law 5: a stale page"
            self._hold(name, ref)
            self.seen["shared page"] += 1

    def on_pages(self, event: dict) -> None:
        for page, generation in event["pages"]:
            assert generation == self.newest.get(page, -1) + 1, "law 5: each taking is the next generation"
            assert not self.holders[page, generation - 1], "law 7: taken while it is held"
            assert (page, generation - 1) not in self.held, "law 5: taken before it has retired"
            self.newest[page] = generation
            self._hold(event["id"], (page, generation))
        assert self.pool is None or self.owned <= self.pool

    def _hold(self, name: str, ref: tuple[int, int]) -> None:
        assert ref not in self.tables[name], "law 7: twice in one table"
        self.tables[name].append(ref)
        self.holders[ref] += 1

    def on_release(self, event: dict) -> None:
        refs = [tuple(ref) for ref in event["pages"]]
        assert refs == self.tables[event["id"]], "law 7: the whole table is released, once"
        for ref in refs:
            assert self.holders[ref] > 0, "law 7: released twice"
            self.holders[ref] -= 1
        name = event["id"]
        rounds, self.losing = sorted(self.plans)[self.losing :], False  # a lost round is over
        in_flight = any(item[0] == name for number in rounds for item in self.plans[number])
        if self.depth == 2 and (in_flight or name in self.host):
            self.held |= {ref for ref in refs if not self.holders[ref]}
        self.tables[name] = []

    def on_retire(self, event: dict) -> None:
        self.held.remove((event["page"], event["generation"]))

    def on_preempt(self, event: dict) -> None:
        if self.depth == 2 and event["for"] == event["id"]:  # its round or its swap is lost
            self.losing = self.state[event["id"]] == "active"
            self.host.pop(event["id"], None)
        else:
            assert self.state[event["id"]] == "active"
        assert self.state[event["for"]] in ("active", "waiting", "leaving")
        self.state[event["id"]] = "leaving"
        self.preemptions[event["id"]] += 1

    def on_swap_out(self, event: dict) -> None:
        assert event["bytes"] == len(self.tables[event["id"]]) * self.page_bytes
        self.host[event["id"]] = event["bytes"]

    def on_swap_in(self, event: dict) -> None:
        assert self.host.pop(event["id"]) == event["bytes"], "law 7: what comes back is what left"

    def on_plan(self, event: dict) -> None:
        self.plans[event["round"]] = event["items"]

    def on_round(self, event: dict) -> None:
        assert self.depth == 2 or event["pages_in_use"] == self.owned
        assert event["pages_reserved"] >= event["pages_in_use"]
        assert self.pool is None or event["pages_reserved"] <= self.pool
        for name, new, context, _ in self.plans.pop(event["round"]):
            if self.depth == 2 and (self.state[name] != "active" or context != self.context[name]):
                self.seen["wasted"] += 1
                continue
            assert self.state[name] == "active"
            assert context == self.context[name], "law 2: a round goes on where the last one ended"
            self.context[name] = end = context + new
            pages = -(-end // self.page_tokens)
            assert len(self.tables[name]) == pages or (self.depth == 2 and len(self.tables[name]) > pages), (
                "law 7: as many pages as positions need"
            )
            self.filled |= set(self.tables[name][: end // self.page_tokens])

    def on_token(self, event: dict) -> None:
        name = event["id"]
        self.tokens[name] += 1
        assert self.state[name] == "active"
        assert event["index"] == self.tokens[name] <= self.submits[name]["max_output_tokens"]

    def on_deliver(self, event: dict) -> None:
        name = event["id"]
        self.delivered[name] += 1
        assert not self.submits[name]["direct"]
        assert event["index"] == self.delivered[name] <= self.tokens[name], (
            "law 7: delivered before it was out"
        )
        assert event["at"] >= event["t"]

    def on_end(self, event: dict) -> None:
        name = event["id"]
        assert self.state[name] not in ENDS, "law 6: a second end"
        assert not self.tables[name], "law 7: it ends with pages"
        self.host.pop(name, None)
        self.state[name] = event["event"]

    on_finish = on_reject = on_cancel = on_expire = on_fail = on_end

    def close(self) -> None:
        """Everything that was taken has come back, unless the observation was cut off."""
        if self.seen["until"]:
            return
        assert not self.owned
        assert not self.held, "law 7: all that was held back has retired"
        assert not self.host
        assert set(self.state.values()) <= ENDS
        for name, state in self.state.items():
            if state == "finish" and not self.submits[name]["direct"]:
                assert self.delivered[name] == self.tokens[name]


def audited(events: list[dict]) -> Ledger:
    ledger = Ledger(events[0])
    for number, event in enumerate(events[1:], start=2):
        try:
            ledger.feed(event)
        except AssertionError as error:
            raise AssertionError(f"line {number}, {event}: {error}") from error
    ledger.close()
    return ledger


def test_conservation_over_the_library():
    seen = Counter[str]()
    for name in [*LIBRARY, "small_trace"]:
        try:
            seen += audited(run(name).journal).seen
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
    assert {"shared page", "preempt", "swap_out", "swap_in", "cancel", "reject", "deliver", "pages"} <= set(
        seen
    )


def test_conservation_over_random_scenarios():
    """The oracle's scenarios, which mix all policies; those that the schema refuses are left out."""
    seen, ran = Counter[str](), 0
    for seed in range(150):
        try:
            events = run(oracle.random_scenario(random.Random(seed)), check=False).journal
        except InputError:
            continue
        ran += 1
        try:
            seen += audited(events).seen
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert ran >= 75
    assert {"shared page", "preempt", "swap_out", "swap_in", "cancel", "reject", "fail", "expire"} <= set(
        seen
    )


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("release", twice),
        ("pages", twice),
        ("token", twice),
        ("finish", twice),
        ("release", with_(pages=[])),
        ("pages", with_(pages=[[0, 7]])),
        ("round", with_(pages_in_use=99)),
        ("token", with_(epoch=3)),
    ],
)
def test_the_audit_sees_what_it_is_for(kind: str, how):
    events = [json.loads(line) for line in spoilt(at_first(kind), how).splitlines()]
    with pytest.raises(AssertionError):
        audited(events)
