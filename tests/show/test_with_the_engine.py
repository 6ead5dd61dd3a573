"""What is drawn from the engine's runs is what is drawn from results made by hand."""

from fractions import Fraction

import pytest

import labkit
from labkit.show.figures import timeline
from labkit.show.figures.round_times import alt_text, compare, flips
from labkit.show.panels.round_times import AT


@pytest.mark.parametrize(("name", "policy"), [("x1_static", "静态"), ("x1_continuous", "连续")])
def test_figure_31_1(x1, name, policy):
    run = labkit.run(name)
    assert timeline.alt_text(run) == timeline.alt_text(x1[policy], seats=2)
    assert timeline.timeline(run).png() == timeline.timeline(x1[policy], seats=2).png()


@pytest.mark.parametrize(("name", "policy"), [("q31_2_static", "静态"), ("q31_2_continuous", "连续")])
def test_q31_2(q31_2, name, policy):
    assert timeline.alt_text(labkit.run(name)) == timeline.alt_text(q31_2[policy], seats=2)


@pytest.mark.parametrize("one", [1, 6, 15])
def test_the_engine_flips_where_the_ledger_says(one):
    scenarios = {"静态": labkit.load("x1_static").raw, "连续": labkit.load("x1_continuous").raw}

    def both(one_ms, two_ms):
        cost = {"kind": "table", "seconds": {"1": one_ms / 1000, "2": two_ms / 1000}}
        return {name: labkit.run({**scenario, "cost": cost}) for name, scenario in scenarios.items()}

    comparison = compare(both, one, 10, AT)
    found = [flips(AT, values) for values in zip(*comparison.swept, strict=True)]
    assert found == [[one], [2 * one], [Fraction(5, 2) * one]]
    assert f"平均 t₂ = {float(2.5 * one):g} ms" in alt_text(comparison)


@pytest.mark.parametrize(
    "name", ["case03_half_prompts", "case05_swap_full", "x2_pair", "case16_no_ping_pong"]
)
def test_other_runs_can_be_drawn_too(name):
    picture = timeline.timeline(labkit.run(name))
    assert picture.alt
    picture.png()
