"""The text alone is enough: the run is rebuilt from `replay --text` and compared with the result object."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import labkit
from labkit.scenario import command
from labkit.scenario.load import names
from labkit.show.replay.frame import Limits
from labkit.show.replay.frames import frames
from labkit.show.replay.sentences import WAITS, Narrator, Teller, clock, name
from labkit.show.replay.words import STRINGS

NUMBER = r"(\d+(?:\.\d+)? m?s)"
OUTCOMES = {
    "finishes": "finished",
    "is rejected": "rejected",
    "is cancelled": "cancelled",
    "expires": "expired",
    "fails": "failed",
}
REASONS = {STRINGS[key]["en"]: reason for reason, key in WAITS.items()}
WHY = {
    STRINGS[key]["en"]: key.removeprefix("replay.why_") for key in STRINGS if key.startswith("replay.why_")
}


def told(journal, lang="en"):
    narrator = Narrator(journal[0], lang)
    lines = [line for event in journal[1:] for line in narrator.feed(event)]
    return lines + list(narrator.close())


def ns(text):
    number, unit = text.split()
    return int(Fraction(number) * {"ms": 10**6, "s": 10**9}[unit])


def seconds(ns_):
    return ns_ / 10**9


class Listener:
    """Somebody who only hears the sentences."""

    def __init__(self):
        self.requests = {}
        self.rounds = []
        self.waiting = {}  # id to reason
        self.fixed = {}  # rounds told of while the one before them ran

    def hear(self, line):
        head, *rest = line.removesuffix(".").split(". ")
        number, start, end = re.fullmatch(
            rf"(?:Round (\d+)|No round|The end), {NUMBER}(?: to {NUMBER})?", head
        ).groups()
        start, end = ns(start), ns(end or start)
        row = {"start": seconds(start), "seconds": seconds(end - start), "items": set()}
        for clause in rest:
            kind, _, what = clause.partition(": ")
            if kind in ("First", "Meanwhile"):
                self.happen(what)
            elif kind == "Then":
                self.happen(f"at {clock(end)} {what}")
            elif kind.startswith("Fixed for round "):
                self.fixed[int(kind.removeprefix("Fixed for round "))] = self.items(what)
            elif kind == "Computed for nothing":
                row["wasted"] = set(what.split(", "))
            elif kind == "Pages":
                used, reserved = re.match(r"(\d+) in use, (\d+) reserved", what).groups()
                row |= {"pages_in_use": int(used), "pages_reserved": int(reserved)}
            elif kind == "Tokens":
                for id_, index in re.findall(r"([\w-]+) number (\d+)", what):
                    self.requests[id_]["token_times"].append(seconds(end))
                    assert len(self.requests[id_]["token_times"]) == int(index)
            elif clause == "Nobody waits" or " waiting" in kind or kind == "Further back":
                count = re.match(r"\d+", kind)
                row["waiting"] = int(count[0]) if count else row.get("waiting", 0)
                self.queue(what)
                row["reasons"] = dict(self.waiting)
            elif clause != "No token" and kind != "In all":
                row["items"] = self.items(clause)
                assert row["items"] or re.search("empty|sits", clause), clause
        if number:
            self.rounds.append({"index": int(number), **row})
            assert row["waiting"] == len(row["reasons"])

    def items(self, text):
        found = re.findall(r"([\w-]+) (prefill|decode)s (\d+) after (\d+)(?:; |$)", text)
        return {(i, phase, int(new), int(context)) for i, phase, new, context in found}

    def queue(self, listed):
        """Who waits and why; each reason is told when it is new, or when it's near the front."""
        for ids, why in re.findall(r"([\w, -]+?) \(([^)]*)\)", listed):
            for id_ in re.findall(r"[\w-]+", ids):
                assert id_ in self.waiting
                self.waiting[id_] = REASONS[why.removeprefix("on the host, ")]

    def happen(self, text):
        at = None
        # A comma between parentheses is none of ours.
        for part in re.split(r"[;,] (?![^(]*\))", text):
            moment = re.match(rf"at {NUMBER} ", part)
            if moment:
                at = ns(moment[1])
            self.one(at, part[moment.end() :] if moment else part)

    def one(self, at, part):
        if found := re.fullmatch(r"([\w-]+) arrives \(.*\)", part):
            self.requests[found[1]] = {
                "arrival": seconds(at),
                "token_times": [],
                "outcome": "unfinished",
                "end": None,
                "reason": None,
                "preemptions": 0,
                "cached_tokens": 0,
            }
            self.waiting[found[1]] = None
        elif found := re.fullmatch(r"([\w-]+) takes seat \d+(?: with (\d+) from the cache)?", part):
            del self.waiting[found[1]]
            if not self.requests[found[1]]["preemptions"]:
                self.requests[found[1]]["cached_tokens"] = int(found[2] or 0)
        elif found := re.fullmatch(r"([\w-]+) gives way to [\w-]+ and .*", part):
            self.requests[found[1]]["preemptions"] += 1
            self.waiting[found[1]] = "preempted"
        elif found := re.fullmatch(rf"([\w-]+) ({'|'.join(OUTCOMES)})(?: \((.*)\))?", part):
            self.requests[found[1]] |= {
                "outcome": OUTCOMES[found[2]],
                "reason": WHY[found[3]] if found[3] else None,
                "end": seconds(at),
            }
            self.waiting.pop(found[1], None)
        elif found := re.fullmatch(r"([\w-]+) is read to the end", part):
            self.requests[found[1]]["end"] = seconds(at)
        else:
            assert re.fullmatch(
                r"[\w-]+ (pauses because its reader is full|goes on|comes back from the host)"
                r"|[\w-]+ loses its cache and has to be computed again"
                r"|the observation ends|capacity of \d+ seats (is ordered|goes live)",
                part,
            ), part


FIELDS = ("arrival", "token_times", "outcome", "reason", "end", "preemptions", "cached_tokens")
ROUNDS = ("index", "start", "seconds", "waiting", "pages_in_use", "pages_reserved")


@pytest.mark.parametrize("scenario", names())
def test_the_run_is_rebuilt_from_the_text_alone(scenario):
    check_the_text_of(labkit.run(scenario))


def test_so_is_a_crowded_one(crowd):
    check_the_text_of(labkit.run(crowd))


def check_the_text_of(run):
    listener = Listener()
    for line in told(run.journal):
        listener.hear(line)
    requests = {r["id"]: {field: r[field] for field in FIELDS} for r in run.result["requests"]}
    assert listener.requests == requests
    overlaps = run.scenario.raw["policy"]["pipeline_depth"] == 2
    # Queue and pages of a result are those of the instant at which the round was planned.
    keys = ROUNDS[:3] if overlaps else ROUNDS
    assert [{key: row[key] for key in keys} for row in listener.rounds] == [
        {key: row[key] for key in keys} for row in run.result["rounds"]
    ]
    said = {}
    for heard, row in zip(listener.rounds, run.result["rounds"], strict=True):
        items = {(i["id"], i["phase"], i["new_tokens"], i["context"]) for i in row["items"]}
        assert heard["items"] == {item for item in items if item[0] not in heard.get("wasted", ())}
        assert listener.fixed.pop(row["index"], items) == items
        if overlaps:
            continue
        said |= {note["id"]: note["reason"] for note in row["notes"]}
        expected = {id_: said[id_] for id_ in heard["reasons"] if heard["reasons"][id_] != "preempted"}
        assert {id_: why for id_, why in heard["reasons"].items() if why != "preempted"} == expected


def test_a_long_queue_is_told_by_its_news():
    document = labkit.load("x1_continuous").document()
    document["requests"] = [
        {"id": f"q{at}", "arrival": at // 20 / 200, "prompt_tokens": 4, "output_tokens": 2}
        for at in range(60)
    ]
    listener = Listener()
    lines = told(labkit.run(document).journal)
    for line in lines:
        listener.hear(line)
    assert max(len(line) for line in lines[1:]) < 2000
    assert "Further back: " in lines[0]
    assert all(set(row["reasons"].values()) <= {"seats"} for row in listener.rounds)


def test_the_command_prints_these_sentences(tmp_path, capsys, monkeypatch):
    path = tmp_path / "j.jsonl"
    command.main(["run", "case05_swap_full", "--journal", str(path)])
    capsys.readouterr()
    journal = labkit.run("case05_swap_full").journal
    for lang, given in (("en", None), ("zh", "zh"), ("en", "en"), ("en", "xx")):
        monkeypatch.delenv("LABKIT_LANG", raising=False)
        if given:
            monkeypatch.setenv("LABKIT_LANG", given)
        assert command.main(["replay", str(path), "--text"]) == 0
        assert capsys.readouterr().out == "".join(line + "\n" for line in told(journal, lang))


def test_the_book_s_example_in_both_languages():
    english, chinese = (told(labkit.run("x1_static").journal, lang) for lang in ("en", "zh"))
    assert english[1] == (
        "Round 1, 10 ms to 20 ms. A decodes 1 after 17; 1 empty while others wait. 1 waiting: C (the batch is closed). "
        "Pages: 2 in use, 2 reserved, no limit. Tokens: A number 2."
    )
    assert chinese[1] == (
        "第 1 轮，10 ms 到 20 ms。A 解码 1，上文 17；空座 1 个，却有人等。1 个在等：C（这一批不再收人）。"
        "页：用 2，预留 2，不限。出词元：A 第 2 个。"
    )
    assert english[-1].endswith("In all: submitted 3, finished 3, tokens 6.")


def test_hostile_names_stay_inside_one_line():
    journal = labkit.run("x1_static").journal
    evil = 'A\n<script>alert("x")</script>\x1b[31m\u202e. Tokens: B number 1'
    renamed = [
        journal[0],
        *(json.loads(json.dumps(event).replace('"A"', json.dumps(evil))) for event in journal[1:]),
    ]
    for lang in ("en", "zh"):
        lines = told(renamed, lang)
        assert len(lines) == 6
        assert not any(c in line for line in lines for c in "\n\x1b\u202e")
        assert all(line.isprintable() for line in lines)
    assert name(evil).startswith('"A\\n<script>alert(\\"x\\")')
    assert name("r-1.a/b") == "r-1.a/b"
    assert name("a, b") == '"a, b"'
    assert name("请求1") == "请求1"


def test_times_are_exact():
    assert [clock(t) for t in (0, 1, 10_000_000, 6_250_000, 9_999_999_999)] == [
        "0 ms", "0.000001 ms", "10 ms", "6.25 ms", "9999.999999 ms",
    ]  # fmt: skip
    assert clock(10_000_000_000) == "10 s"
    assert clock(3_600_000_000_001) == "3600.000000001 s"


def test_a_strange_header_has_defaults():
    header = {
        "scenario": {
            "budget": {"seats": "many", "kv_bytes": [], "page_tokens": None},
            "policy": 3,
            "requests": 4,
        }
    }
    limits = Limits.of(header)
    assert (limits.seats, limits.page_tokens, limits.prefixes) == (1, 16, {})


def test_every_key_is_used():
    from labkit.show.replay import sentences

    folder = Path(sentences.__file__).parent
    python = "\n".join(p.read_text(encoding="utf-8") for p in folder.glob("*.py") if p.name != "words.py")
    scripts = "\n".join(p.read_text(encoding="utf-8") for p in folder.glob("*.js"))
    kinds = {kind for frame in frames(labkit.run("x1_static").journal)[1] for kind in frame.totals}
    assert kinds == set(sentences.TOTALS)
    for key in STRINGS:
        short = key.removeprefix("replay.")
        made = short.partition("_")[0] in (
            "submit",
            "admit",
            "preempt",
            "why",
            "mark",
            "table",
            "wait",
            "capacity",
        )
        used = f'"{key}"' in python or re.search(rf"\bwords\.{short}\b|\"{short}\"|\b{short}:", scripts)
        assert (
            made
            or used
            or short in ("swap_in", "pause", "resume", "read", "until", "finish", "late", "lost")
            or short in sentences.TOTALS
        ), key


def test_sentence_and_clauses_are_one_text():
    limits, found = frames(labkit.run("case05_swap_full").journal)
    for lang, gap in (("en", " "), ("zh", "")):
        teller = Teller(limits, lang)
        for frame in found:
            assert teller.sentence(frame) == gap.join(filter(None, teller.clauses(frame).values()))
    assert json.dumps(told(labkit.run("x1_static").journal, "zh"))
