"""Deliberate faults in the core, each of which some test has to catch.

    python -m tests.core.mutations            all of them
    python -m tests.core.mutations NAME…      those

A fault is one exact piece of text and what stands there instead. It is put into a copy of the package, the core's
tests run on the copy until the first fails, and the line says which. Exit 1 if a fault survives, or if its text is no
longer there: then the fault has to be written anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
COPIED = ["labkit", "tests/__init__.py", "tests/conftest.py", "tests/oracle.py", "tests/core", "tests/engine"]
TESTS = [
    "tests/core/test_overlap.py",
    "tests/core/test_laws.py",
    "tests/core/test_exhaustive.py",
    "tests/core/test_stateful.py",
]
TESTS += ["tests/core/test_purity.py", "tests/engine/test_oracle.py"]
SECONDS = 180
# Random tests look for a failure, they need not make it small; and the copy must be what is tested.
PLUGIN = """
from pathlib import Path
from hypothesis import HealthCheck, Phase, settings
import labkit
assert Path(labkit.__file__).is_relative_to(Path(__file__).parent), labkit.__file__
settings.register_profile("mutation", deadline=None, derandomize=True, database=None,
    phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
"""


class Fault(NamedTuple):
    """`old` stands once in labkit/core/`file`; `new` instead of it is wrong."""

    name: str
    file: str
    old: str
    new: str


class Verdict(NamedTuple):
    """What came of one fault: the test that caught it, or why there is none."""

    name: str
    caught_by: str | None
    trouble: str | None
    seconds: float

    def __str__(self) -> str:
        what = f"caught by {self.caught_by}" if self.caught_by else f"NOT CAUGHT: {self.trouble}"
        return f"{self.name}: {what} ({self.seconds:.1f} s)"


FAULTS = [
    Fault(
        "a page is released twice",
        "scheduler.py",
        "    state.pool.release(seq.table, len(steps))\n",
        "    state.pool.release(seq.table, len(steps))\n    state.pool.release(seq.table[:1])\n",
    ),
    Fault("a double release goes unnoticed", "pages.py", "if self.references[ref.id] <= 0:", "if False:"),
    Fault("a promise is forgotten", "scheduler.py", "state.promised += seq.bound_pages - len(hits)", "pass"),
    Fault(
        "a promise is not given back",
        "scheduler.py",
        "        state.promised -= seq.bound_pages - len(seq.table)\n",
        "        state.promised -= 0\n",
    ),
    Fault(
        "a shared page has one holder",
        "pages.py",
        "self.references[ref.id] += 1",
        "self.references[ref.id] = 1",
    ),
    Fault(
        "an evicted page counts as free though it is shared",
        "draft.py",
        "if self._held_by(ref.id) == 0:\n                if later:",
        "if True:\n                if later:",
    ),
    Fault(
        "the last runner is skipped", "decide.py", "    for seq in ready:\n", "    for seq in ready[:3]:\n"
    ),
    Fault(
        "the longest unserved go last",
        "decide.py",
        "key=lambda seq: seq.last_served",
        "key=lambda seq: -seq.last_served",
    ),
    Fault(
        "a victim outranks whom it makes room for",
        "draft.py",
        "            if seq is grower:\n                break\n",
        "            if seq is grower:\n                continue\n",
    ),
    Fault(
        "the best victim is taken, not the lowest",
        "draft.py",
        "for seq in self.active[::-1]:",
        "for seq in self.active[self.active.index(grower) + 1 :]:",
    ),
    Fault(
        "equal priority takes a seat",
        "draft.py",
        "other.request.priority >= seq.request.priority",
        "other.request.priority > seq.request.priority",
    ),
    Fault(
        "a takeover that does not suffice is kept",
        "draft.py",
        "# its pages are on their way\n        self._restore(before)\n        return False\n\n    # ---",
        "# its pages are on their way\n        return False\n\n    # ---",
    ),
    Fault(
        "min_run_tokens is ignored",
        "draft.py",
        "return seq.scheduled - seq.mark < ",
        "return False and seq.scheduled < ",
    ),
    Fault("the mark falls back at a preemption", "scheduler.py", "max(seq.mark, seq.computed)", "0"),
    Fault(
        "growth takes no heed of free pages",
        "draft.py",
        "if need <= self.pages or (not planned and self._evict_for(seq, need, least, prefill)):",
        "if need <= self.pages or not planned:",
    ),
    Fault(
        "credit is added twice",
        "credit.py",
        "self._share_out(sum(charges.values(), _ZERO), sorted(sharers))",
        "self._share_out(2 * sum(charges.values(), _ZERO), sorted(sharers))",
    ),
    Fault(
        "credit is charged in the round's plan too",
        "credit.py",
        "self._move(name, -amount)",
        "self._move(name, -2 * amount)",
    ),
    Fault(
        "weights are left out",
        "credit.py",
        "amount * self.tenant(name).weight / weights)\n        self._clamp",
        "amount / len(names))\n        self._clamp",
    ),
    Fault("a bypass is not counted", "scheduler.py", ".bypassed += count", ".bypassed += 0"),
    Fault("bypasses are never forgotten", "scheduler.py", "    seq.bypassed = 0\n", ""),
    Fault(
        "max_bypass is off by one", "decide.py", "and passed and most >= bound", "and passed and most > bound"
    ),
    Fault(
        "a stale epoch is accepted",
        "scheduler.py",
        "if seq is None or seq.epoch != ",
        "if seq is None or -1 == ",
    ),
    Fault(
        "a stale page is accepted", "pages.py", "if self.generations[ref.id] != ref.generation:", "if False:"
    ),
    Fault(
        "a page handed on keeps its generation",
        "pages.py",
        "                page = self._plain.pop()\n                self.generations[page] += 1",
        "                page = self._plain.pop()",
    ),
    Fault(
        "a second end counts",
        "scheduler.py",
        "if seq is None or seq.doom is not None:",
        "if seq is None:",
    ),
    Fault(
        "a terminal state is left",
        "lifecycle.py",
        "if not isinstance(self.status, Outcome) else None",
        "if not isinstance(self.status, Outcome) else {Status.WAITING}",
    ),
    Fault("a doomed token is emitted", "scheduler.py", "yields and seq.doom is None:", "yields:"),
    Fault(
        "a doomed prompt is published",
        "scheduler.py",
        "if seq.published < len(seq.chain) and seq.doom is None:",
        "if seq.published < len(seq.chain):",
    ),
    Fault(
        "pages come free while their round runs",
        "scheduler.py",
        "if seq.status is Status.ACTIVE and state.in_flight:",
        "if False:",
    ),
    Fault(
        "a page is published before its round commits",
        "scheduler.py",
        "    state.version += 1\n    runs = ",
        "    for item in plan.items:\n"
        "        seq = state.live[item.id]\n"
        "        for index in range(min((item.context + item.new_tokens) // page, len(seq.chain))):\n"
        "            state.pool.publish(seq.table[index], seq.chain[index])\n"
        "    state.version += 1\n    runs = ",
    ),
    Fault("tenants share prefixes", "pages.py", 'tenant.encode("utf-8", "surrogatepass")', 'b""'),
    Fault(
        "a full hit leaves nothing to compute",
        "draft.py",
        "max(0, seq.prompt_tokens - 1) // self.page])",
        "seq.prompt_tokens // self.page])",
    ),
    Fault(
        "heads of prefixes go before tails",
        "pages.py",
        "for ref in reversed(refs):\n            self._check(ref)\n            if self",
        "for ref in refs:\n            self._check(ref)\n            if self",
    ),
    Fault(
        "the youngest cached page goes first",
        "pages.py",
        "next(iter(self._cached))",
        "next(reversed(self._cached))",
    ),
    Fault(
        "the aged go by the policy's order",
        "ordering.py",
        "return (0, 0, *arrival)",
        "return (0, request.max_output_tokens, *arrival)",
    ),
    Fault(
        "aging begins too early",
        "scheduler.py",
        "now - state._ages[0][0] > limit",
        "now - state._ages[0][0] >= limit",
    ),
    Fault(
        "ties go by place before arrival",
        "ordering.py",
        "arrival = (request.arrival_ns, request.place)",
        "arrival = (request.place, request.arrival_ns)",
    ),
    Fault(
        "a stale plan is committed",
        "scheduler.py",
        "if plan.version != state.version or len(state.in_flight)",
        "if len(state.in_flight)",
    ),
    Fault(
        "decide changes the state",
        "draft.py",
        "        self.items[seq.id] = PlanItem(seq.id, seq.epoch, 1, ",
        "        seq.last_served = self.state.rounds\n        self.items[seq.id] = PlanItem(seq.id, seq.epoch, 1, ",
    ),
    Fault(
        "the earliest are shed",
        "scheduler.py",
        "for seq in new[bound:]:",
        "for seq in new[: len(new) - bound]:",
    ),
    Fault(
        "the door lets in who comes too late",
        "scheduler.py",
        "wait + round(service) + policy.margin_ns >",
        "round(service) + policy.margin_ns >",
    ),
    Fault(
        "swap where recomputing is cheaper", "draft.py", "there_and_back < again", "there_and_back > again"
    ),
    Fault("the host is overfilled", "draft.py", "len(seq.table) > room", "False"),
    Fault(
        "new ones before the swapped",
        "decide.py",
        "elif draft.held_back and not draft.admit_anyway:",
        "elif False:",
    ),
    Fault(
        "a promise counts the pages hit",
        "scheduler.py",
        "state.promised += seq.bound_pages - len(hits)",
        "state.promised += seq.bound_pages",
    ),
    Fault(
        "a lone limit of seconds stops all",
        "decide.py",
        "if not draft.items and draft.stopped_by_seconds:",
        "if False:",
    ),
    Fault(
        "nobody gives way where all would skip",
        "decide.py",
        "lowest = None if draft.items else draft.way_out()",
        "lowest = None",
    ),
    Fault(
        "paused requests run",
        "draft.py",
        "if seq.paused or (victims and seq.id in victims):",
        "if victims and seq.id in victims:",
    ),
    # Rounds that overlap.
    Fault(
        "pages are not held back for a round in flight",
        "scheduler.py",
        "    if seq.last_served in state.in_flight:\n",
        "    if False:\n",
    ),
    Fault(
        "swapped pages are free before they have got there",
        "scheduler.py",
        "steps = [transfer.pages, state.fences",
        "steps = [state.fences",
    ),
    Fault(
        "pages are retired again",
        "scheduler.py",
        "state.fences.pop(number, [])",
        "state.fences.get(number, [])",
    ),
    Fault("a double retire goes unnoticed", "pages.py", "if left < 0:", "if False:"),
    Fault("one step of two suffices", "pages.py", "            if left:\n", "            if False:\n"),
    Fault(
        "a quarantined page is found",
        "pages.py",
        "if page is None or (page in self.touched and not self.references[page]):",
        "if page is None:",
    ),
    Fault("quarantined pages count as free", "pages.py", "self.owned - self.quarantined", "self.owned"),
    Fault(
        "the epoch stays when the cache is lost",
        "scheduler.py",
        "    seq.epoch += 1\n    seq.computed = seq.scheduled = 0\n",
        "    seq.computed = seq.scheduled = 0\n",
    ),
    Fault(
        "the end of a lease is ignored",
        "scheduler.py",
        "    elif lost:\n        records.append",
        "    elif False:\n        records.append",
    ),
    Fault(
        "a lost round leaves its requests as they are",
        "scheduler.py",
        '            records += _preempt(state, seq, "recompute", seq.id, now)\n',
        "            pass\n",
    ),
    Fault(
        "a pending token is not counted",
        "scheduler.py",
        "            seq.wanted = end + 1  # its token",
        "            pass  # its token",
    ),
    Fault(
        "the bound is not counted ahead",
        "scheduler.py",
        "if end == seq.wanted < seq.most:",
        "if end == seq.wanted:",
    ),
    Fault(
        "rounds settle out of order",
        "scheduler.py",
        "number = next(iter(state.in_flight))",
        "number = next(reversed(state.in_flight))",
    ),
    Fault(
        "somebody gives way while a round is in flight",
        "decide.py",
        "if state.in_flight and (lowest or draft.victims):",
        "if False:",
    ),
    Fault(
        "room on the host comes free before the swap is over",
        "scheduler.py",
        "        if not state.moving(seq):\n",
        "        if True:\n",
    ),
    Fault(
        "a request is back before its pages have left",
        "decide.py",
        "Reason.PREEMPTED if state.moving(seq) else draft.try_enter(seq)",
        "draft.try_enter(seq)",
    ),
    Fault(
        "pages on their way cost another victim",
        "draft.py",
        "if not self.stopped_by_pages or self.coming or not left:",
        "if not self.stopped_by_pages or not left:",
    ),
]


def broken(fault: Fault, package: Path) -> str | None:
    """Put `fault` into the copy; what is wrong with the fault itself, if anything."""
    path = package / "core" / fault.file
    text = path.read_text(encoding="utf-8")
    found = text.count(fault.old)
    if found != 1:
        return f"its text stands {found} times in core/{fault.file}: write the fault anew"
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8", newline="\n")
    return None


def try_out(fault: Fault) -> Verdict:
    """Run the core's tests on a copy with this fault in it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in (*COPIED, "pyproject.toml"):
            source, target = ROOT / name, copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, target)
        trouble = broken(fault, copy / "labkit")
        if trouble:
            return Verdict(fault.name, None, trouble, time.monotonic() - started)
        (copy / "mutation_plugin.py").write_text(PLUGIN, encoding="utf-8", newline="\n")
        tests = [name for name in TESTS if (copy / name).exists()]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--tb=no",
            "-p",
            "mutation_plugin",
            "-p",
            "no:cacheprovider",
        ]
        environment = {
            **os.environ,
            "LABKIT_EXAMPLES": "mutation",
            "PYTHONPATH": folder,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        environment.pop("PYTEST_ADDOPTS", None)
        try:
            done = subprocess.run(
                [*command, "-m", "not long", *tests], cwd=copy, env=environment, timeout=SECONDS, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Verdict(fault.name, "the clock: it runs for ever", None, time.monotonic() - started)
        seconds = time.monotonic() - started
        failed = re.search(r"^(?:FAILED|ERROR) (\S+(?: \w+)*\]?)", done.stdout, re.MULTILINE)
        if done.returncode == 1 and failed:
            return Verdict(fault.name, failed[1].split(" - ")[0].removeprefix("tests/"), None, seconds)
        trouble = "it survives" if done.returncode == 0 else "the tests did not run: " + done.stdout[-400:]
        return Verdict(fault.name, None, trouble, seconds)


def main(names: Iterable[str]) -> int:
    """Try all faults, or those named; 1 if one is not caught."""
    names = list(names)
    unknown = set(names) - {fault.name for fault in FAULTS}
    if unknown:
        print(
            f"no such fault: {', '.join(sorted(unknown))}; there are:", *(f.name for f in FAULTS), sep="\n  "
        )
        return 1
    caught = True
    for fault in FAULTS:
        if not names or fault.name in names:
            verdict = try_out(fault)
            caught &= verdict.caught_by is not None
            print(verdict, flush=True)
    return 0 if caught else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
