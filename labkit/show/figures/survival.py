"""C30: the share of requests slower than t, on a logarithmic scale: a tail that means hide, seen by several clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
from matplotlib.ticker import FuncFormatter

from labkit.show.picture import Picture
from labkit.show.style import DASHES, FAINT, LARGE, PALETTE, SMALL, settings
from labkit.show.text import t

WIDTH, HEIGHT = 8.0, 4.0  # inches
BOX = (0.1, 0.15, 0.88, 0.6)
LOOKS = tuple(
    zip((PALETTE[4], PALETTE[5], PALETTE[2], PALETTE[3]), DASHES, (4.6, 2.6, 2.2, 2.2), strict=True)
)


def survival(samples: Mapping[str, Sequence[float]], title: str) -> Picture:
    """Latencies in s of each name as Pr(T > t), in percent, with a mark at 1 %, where p99 is read.

    The first is drawn broadest, below the others, so that equal curves are still seen to be two. Raises ValueError
    for no sample, an empty one, or more than there are looks.
    """
    if not 1 <= len(samples) <= len(LOOKS) or not all(map(len, samples.values())):
        raise ValueError(f"samples: given {len(samples)}, expected 1 to {len(LOOKS)}, none of them empty")
    with matplotlib.rc_context(settings()):
        picture = Picture(WIDTH, HEIGHT, alt_text(samples, title))
        picture.text(0.012, 0.97, title, size=LARGE, va="top")
        axes = picture.add_axes(BOX)
        for (name, values), (colour, dash, width) in zip(samples.items(), LOOKS, strict=False):
            axes.step(*steps(values), where="post", label=name, color=colour, linestyle=dash, linewidth=width)
        floor = 100 / max(map(len, samples.values()))
        axes.set_yscale("log")
        axes.set_ylim(floor / 2, 130)
        axes.set_xlim(0, None)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.axhline(1, color=FAINT, linewidth=1.0, linestyle="dotted")
        axes.text(0.02, 1.12, t("survival.read_here"), transform=axes.get_yaxis_transform(), size=SMALL)
        axes.set(xlabel=t("survival.x"), ylabel=t("survival.y"))
        columns = min(2, len(samples))
        axes.legend(
            loc="lower left", bbox_to_anchor=(-0.02, 0.98), ncols=columns, frameon=False, handlelength=2.8
        )
    return picture


def steps(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Where the share of values greater than t changes, and to what, in percent: from (0, 100) on."""
    ordered = sorted(map(float, values))
    xs, ys = [0.0], [100.0]
    for rank, value in enumerate(ordered, start=1):
        share = 100 * (len(ordered) - rank) / len(ordered)
        if value == xs[-1]:
            ys[-1] = share
        else:
            xs.append(value)
            ys.append(share)
    return xs, ys


def alt_text(samples: Mapping[str, Sequence[float]], title: str) -> str:
    """Median, p99 (nearest rank) and greatest of each sample."""
    said = []
    for name, values in samples.items():
        ordered = sorted(map(float, values))

        def rank(percent: int, ordered: list[float] = ordered) -> str:
            return f"{ordered[-(-percent * len(ordered) // 100) - 1]:.4g}"

        numbers = {"n": len(ordered), "median": rank(50), "p99": rank(99), "most": rank(100)}
        said.append(t("survival.alt_one", name=name, **numbers))
    return title + t("list.stop") + t("list.semicolon").join(said)
