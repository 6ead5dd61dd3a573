"""How every plot of the lab looks: fonts with Chinese, text of 11 pt and more, colours safe for all eyes.

`plot_style()` gives a student's own pyplot plots the same look: called at the top of a notebook it holds
from there on, used as `with plot_style():` it ends with the block and leaves matplotlib as it was.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from labkit.show.fonts import families

# Okabe and Ito's palette, which the colour-blind tell apart; black is left to text and lines. Beside each
# colour stands a hatch, since colour is never alone.
PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#F0E442", "#999999")
HATCHES = ("", "///", "\\\\\\", "...", "xxx", "|||", "ooo", "---")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("solid", "dashed", "dashdot", "dotted")
INK = "#1a1a1a"
FAINT = "#6b6b6b"
ALARM = "#B03A00"  # vermilion, darkened: 6 to 1 on white
PAPER = "#ffffff"

SMALL, NORMAL, LARGE = 11.0, 12.0, 14.0  # points
DPI = 144


def settings() -> dict[str, Any]:
    """The matplotlib settings of the lab's plots."""
    from cycler import cycler

    markers = cycler(color=PALETTE) + cycler(linestyle=(DASHES * 2)[: len(PALETTE)])
    return {
        "font.family": list(families()),
        "font.size": NORMAL,
        "axes.titlesize": LARGE,
        "axes.labelsize": NORMAL,
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
        "legend.fontsize": SMALL,
        "figure.titlesize": LARGE,
        "axes.prop_cycle": markers,
        "axes.unicode_minus": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": INK,
        "axes.facecolor": PAPER,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "figure.facecolor": PAPER,
        "savefig.facecolor": PAPER,
        "savefig.transparent": False,
        "hatch.linewidth": 1.0,
        "lines.linewidth": 2.0,
        "figure.dpi": 100,
        "savefig.dpi": DPI,
    }


class plot_style:  # noqa: N801  (a student calls it like a function)
    """The lab's look for pyplot: `plot_style()` for a whole notebook, `with plot_style():` for one block."""

    def __init__(self) -> None:
        import matplotlib

        wanted = settings()
        self._before = {key: matplotlib.rcParams[key] for key in wanted}
        matplotlib.rcParams.update(wanted)

    def __enter__(self) -> plot_style:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import matplotlib

        matplotlib.rcParams.update(self._before)

    def __repr__(self) -> str:
        return "plot_style()"
