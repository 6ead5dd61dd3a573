import subprocess
import sys

import matplotlib
import pytest

import labkit
from labkit.show.fonts import FAMILY, SYSTEM_FAMILIES, families
from labkit.show.style import PALETTE, settings


@pytest.fixture(autouse=True)
def own_settings():
    with matplotlib.rc_context():
        yield


def all_settings():
    return {key: value for key, value in dict(matplotlib.rcParams).items() if key != "backend"}


def test_as_a_context_it_leaves_matplotlib_as_it_was():
    before = all_settings()
    with labkit.plot_style():
        assert matplotlib.rcParams["font.family"][0] == FAMILY
        with labkit.plot_style():
            pass
        assert matplotlib.rcParams["font.family"][0] == FAMILY
    assert all_settings() == before


def test_an_error_inside_the_context_changes_nothing_either():
    before = all_settings()
    with pytest.raises(RuntimeError), labkit.plot_style():
        raise RuntimeError
    assert all_settings() == before


def test_as_a_call_it_holds():
    labkit.plot_style()
    assert all(
        matplotlib.rcParams[key] == value for key, value in settings().items() if key != "axes.prop_cycle"
    )


def test_text_is_large_enough_and_the_background_opaque():
    sizes = [
        value
        for key, value in settings().items()
        if (key.endswith("size") and "font" in key) or "label" in key
    ]
    assert all(size >= 11 for size in sizes if isinstance(size, float))
    assert settings()["figure.facecolor"] == "#ffffff"
    assert settings()["savefig.transparent"] is False


def test_colours_come_with_lines_of_their_own():
    cycle = list(settings()["axes.prop_cycle"])
    assert [c["color"] for c in cycle] == list(PALETTE)
    assert len({(c["color"], c["linestyle"]) for c in cycle}) == len(PALETTE)
    assert len({c["linestyle"] for c in cycle[:4]}) == 4


def test_every_family_exists_here():
    names = set(matplotlib.font_manager.fontManager.get_font_names())
    assert set(families()) <= names
    assert families()[0] == FAMILY
    assert families()[-1] == "DejaVu Sans"
    assert set(families()[1:-1]) <= set(SYSTEM_FAMILIES)


def test_a_students_pyplot_figure_has_chinese(tmp_path):
    import matplotlib.pyplot as plt

    with labkit.plot_style():
        figure, axes = plt.subplots()
        axes.plot([1, 2], [-1, 2], label="请求 A")
        axes.set(title="静态与连续", xlabel="时间（ms）", ylabel="t₁ ≥ −λ")
        axes.legend()
        for suffix in ("png", "svg", "pdf"):
            figure.savefig(tmp_path / f"plot.{suffix}")
        plt.close(figure)


HEAVY = ("numpy", "matplotlib", "ipywidgets", "anywidget", "IPython", "torch", "sympy")


def loaded_after(code):
    ask = f"import sys; {code}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, check=True, encoding="utf-8")
    return set(answer.stdout.split())


def test_show_loads_nothing_heavy_until_it_is_used():
    assert loaded_after("import labkit.show") == set()


def test_figures_need_no_widgets():
    code = (
        "import labkit.show.figures.timeline, labkit.show.figures.round_times, labkit.show.panels.round_times"
    )
    assert not loaded_after(code) & {"ipywidgets", "anywidget", "IPython", "torch", "sympy"}
    assert "matplotlib.pyplot" not in loaded_after(code)
