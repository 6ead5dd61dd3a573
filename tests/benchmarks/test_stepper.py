"""The stepper's bench measures what it says, and is left out where it can't."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks import stepper


@pytest.mark.browser
def test_it_measures_both_in_one_run():
    # In a thread of its own: the browser tests of the same process hold Playwright's loop in this one.
    with ThreadPoolExecutor(1) as own:
        result = own.submit(stepper.measure, 1, keys=4).result()
    assert (result["stepper"]["keys"], result["figure"]["keys"]) == (4, 2)
    for kind in ("stepper", "figure"):
        assert 0 < result[kind]["median"] <= result[kind]["p95"] <= result[kind]["max"]
    said = "\n".join(stepper.lines(result))
    assert "aim: median 17 ms" in said
    assert f"{result['ratio']:.1f} times" in said


def test_it_is_left_out_without_chromium(monkeypatch):
    monkeypatch.setattr("labkit.testing.find_chromium", lambda: None)
    assert stepper.lines(stepper.measure(1))[0].startswith("left out: it needs playwright and Chromium")
