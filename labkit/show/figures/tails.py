"""How a queue's tail is predicted and how it is: two plots, of Pr(T > t) at one load and of its p99 over loads.

Laws are lines, measurements are marks with their intervals. A series' name may be one of `NAMES`, which are said in
the reader's language and always look alike; any other is shown as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from labkit.show.figures.curves import COLOURS, alt_text
from labkit.show.picture import Picture
from labkit.show.style import DASHES, FAINT, INK, LARGE, MARKERS, SMALL, settings
from labkit.show.text import t

WIDTH, HEIGHT = 8.0, 4.4  # inches
BOX = (0.105, 0.135, 0.875, 0.665)
NAMES = {  # what is said, and which look it has in every figure
    "predicted": ("tails.predicted", 0),
    "formula": ("tails.formula", 0),
    "servers": ("tails.servers", 1),
    "sampled": ("tails.sampled", 1),
    "exact": ("tails.exact", 2),
    "measured": ("tails.measured", 3),
}
SHARES = (0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)  # of the offline rate, labelled
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Point = (
    tuple[float, float] | tuple[float, float, float, float]
)  # x, y, and the interval of y where there is one
Series = Mapping[str, Sequence[Point]]


def tails(series: Series, title: str | None = None) -> Picture:
    """Pr(T > t) of each name, points (t in s, probability) or (t, probability, low, high), on a logarithmic axis.

    Points with probability 0 cannot be shown there and are left out. Raises ValueError for more series than looks.
    """
    shown = _named({name: [p for p in points if p[1] > 0] for name, points in series.items()})
    title, x, y = title or t("tails.title"), t("tails.axis_t"), t("tails.axis_p")
    with matplotlib.rc_context(settings()):
        picture, axes = _start(shown, title, x, y)
        # the law that falls fastest leaves the picture: what matters is how far the slowest one reaches
        axes.set_ylim(max(min(p[1] for p in points) for points in shown.values()) / 4, 1.3)
        axes.set_xlim(left=0)
    return picture


def p99_by_rate(
    series: Series, offline_rate: float, *, crossing: float | None = None, title: str | None = None
) -> Picture:
    """The p99 of T in s of each name over the arrival rate, points (lambda, p99) or (lambda, p99, low, high).

    Across runs the rate that is left to `offline_rate`, logarithmic and towards 0, so that M/M/1's p99 is straight and
    high loads get room; it is labelled with lambda. `crossing`: where prediction and truth meet, marked by a line.

    Raises ValueError for a rate that is not below `offline_rate`, or more series than looks.
    """
    rates = {point[0] for points in series.values() for point in points}
    if max(rates) >= offline_rate:
        raise ValueError(
            f"series: given a rate of {max(rates):g}, expected less than offline_rate {offline_rate:g}"
        )
    shown = _named(series)
    title, x, y = (
        title or t("tails.over_title"),
        t("tails.axis_rate", rate=f"{offline_rate:g}"),
        t("tails.axis_over"),
    )
    left = {name: [(offline_rate - p[0], *p[1:]) for p in points] for name, points in shown.items()}
    with matplotlib.rc_context(settings()):
        picture, axes = _start(left, title, x, y)
        axes.set_xscale("log")
        axes.set_xlim(1.08 * (offline_rate - min(rates)), (offline_rate - max(rates)) / 1.15)
        ticks = [share * offline_rate for share in SHARES if min(rates) <= share * offline_rate <= max(rates)]
        axes.set_xticks([offline_rate - rate for rate in ticks], [f"{rate:g}" for rate in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        said = [alt_text({name: [p[:2] for p in points] for name, points in shown.items()}, title, x, y)]
        if crossing is not None:
            told = t("tails.crossing", rate=f"{crossing:.1f}")
            axes.axvline(offline_rate - crossing, color=FAINT, linewidth=1.2, linestyle=(0, (2, 2)), zorder=0)
            axes.annotate(
                told, (offline_rate - crossing, 0.04), xycoords=("data", "axes fraction"), xytext=(-5, 0),
                textcoords="offset points", ha="right", va="bottom", fontsize=SMALL,
            )  # fmt: skip
            said.append(told)
        picture.alt = t("list.stop").join(said)
    return picture


def _named(series: Series) -> dict[str, list[Point]]:
    if not 1 <= len(series) <= len(COLOURS):
        raise ValueError(f"series: given {len(series)} of them, expected 1 to {len(COLOURS)}")
    return {t(NAMES[name][0]) if name in NAMES else name: list(points) for name, points in series.items()}


def _looks(names: Iterable[str]) -> dict[str, int]:
    """A look for each name as it is shown: its own if it is one of `NAMES`, else one that no other has."""
    own = {t(key): look for key, look in NAMES.values()}
    found = {name: own[name] for name in names if name in own}
    free = [look for look in range(len(COLOURS)) if look not in found.values()]
    return found | {name: free.pop(0) for name in names if name not in own}


def _start(series: Mapping[str, Sequence[Point]], title: str, x: str, y: str) -> tuple[Picture, Axes]:
    """A picture with its title, axes with a logarithmic upright one, and the series drawn."""
    flat = {name: [p[:2] for p in points] for name, points in series.items()}
    picture = Picture(WIDTH, HEIGHT, alt_text(flat, title, x, y))
    picture.text(0.012, 0.972, title, size=LARGE, va="top")
    axes = picture.add_axes(BOX)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(_power))
    axes.set(xlabel=x, ylabel=y)
    looks = _looks(series)
    for name, points in series.items():
        colour, dash, marker = (of[looks[name]] for of in (COLOURS, DASHES, MARKERS))
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        if any(len(p) == 4 for p in points):
            floor = min(ys) / 100  # an interval may reach 0, which a logarithmic axis lacks
            low = [y - max(p[2], floor) if len(p) == 4 else 0.0 for p, y in zip(points, ys, strict=True)]
            high = [p[3] - y if len(p) == 4 else 0.0 for p, y in zip(points, ys, strict=True)]
            bars = {
                "color": colour,
                "marker": marker,
                "markersize": 7,
                "markeredgecolor": INK,
                "markeredgewidth": 0.6,
            }
            bars |= {"linestyle": "none", "ecolor": INK, "elinewidth": 1.2, "capsize": 4, "zorder": 3}
            axes.errorbar(xs, ys, yerr=[[max(v, 0.0) for v in low], high], label=name, **bars)
        else:
            wide = name == t("tails.servers")  # it lies nearly under another law
            line = {"linewidth": 7.0, "alpha": 0.3} if wide else {"linewidth": 2.0, "linestyle": dash}
            axes.plot(xs, ys, label=name, color=colour, **line)
    axes.legend(
        frameon=False,
        handlelength=2.8,
        loc="lower left",
        bbox_to_anchor=(-0.02, 0.99),
        ncols=2,
        columnspacing=1.6,
    )
    return picture, axes


def _power(value: float, _: int) -> str:
    """10, 1, 0.1 ... 0.001, then powers of 10."""
    return f"{value:g}" if value >= 1e-3 else "10" + str(round(math.log10(value))).translate(RAISED)
