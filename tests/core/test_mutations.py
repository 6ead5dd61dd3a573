"""Each deliberate fault of tests/core/mutations.py is caught by some test."""

from __future__ import annotations

import pytest

from tests.core import mutations


def test_each_fault_stands_where_it_says():
    """Quick enough for every run: a fault whose text has gone tests nothing."""
    core = mutations.ROOT / "labkit" / "core"
    texts = {fault.file: (core / fault.file).read_text(encoding="utf-8") for fault in mutations.FAULTS}
    lost = [fault.name for fault in mutations.FAULTS if texts[fault.file].count(fault.old) != 1]
    assert not lost, f"write anew: {lost}"
    names = [fault.name for fault in mutations.FAULTS]
    assert len(set(names)) == len(names) >= 14


def test_a_fault_whose_text_has_gone_is_an_error(capsys, monkeypatch):
    gone = mutations.Fault("gone", "pages.py", "no such text", "")
    monkeypatch.setattr(mutations, "FAULTS", [gone])
    assert mutations.main(["gone"]) == 1
    assert "stands 0 times in core/pages.py" in capsys.readouterr().out
    assert mutations.main(["unheard of"]) == 1


@pytest.mark.long
def test_without_a_fault_nothing_is_caught():
    """The copy runs and passes: what is caught is the fault."""
    verdict = mutations.try_out(mutations.Fault("none", "pages.py", '"""The page pool', '"""The page pool'))
    assert (verdict.caught_by, verdict.trouble) == (None, "it survives")


@pytest.mark.long
@pytest.mark.parametrize("fault", mutations.FAULTS, ids=lambda fault: fault.name)
def test_each_fault_is_caught(fault: mutations.Fault):
    verdict = mutations.try_out(fault)
    print(verdict)
    assert verdict.caught_by, verdict.trouble
