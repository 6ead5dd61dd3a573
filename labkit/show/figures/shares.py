"""X5, C22: what became of all requests, one bar a case, the denominator the same in each."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib

from labkit.show.picture import Picture
from labkit.show.style import HATCHES, INK, LARGE, PALETTE, PAPER, SMALL, settings
from labkit.show.text import t

WIDTH = 8.0  # inches
BAR, HEAD, FOOT = 0.62, 0.9, 0.75  # inches: a bar with its gap, above them, below them
COLOURS = (PALETTE[2], PALETTE[0], PALETTE[5], PALETTE[3], PALETTE[7])
NARROW = 0.08  # a part smaller than this has its number above it, not in it


def shares(cases: Mapping[str, Mapping[str, float]], title: str) -> Picture:
    """One bar for each case, its parts side by side; each value is a share of all, from 0 to 1.

    Raises ValueError where the parts of a case do not make up the whole, or cases have different parts.
    """
    if not cases:
        raise ValueError("cases: given none, expected at least one")
    names = list(next(iter(cases.values())))
    for case, parts in cases.items():
        if list(parts) != names or not names or abs(sum(parts.values()) - 1) > 1e-9:
            raise ValueError(
                f"{case}: given parts {dict(parts)}, expected {', '.join(names) or 'some'} that make up 1"
            )
    height = HEAD + FOOT + BAR * len(cases)
    with matplotlib.rc_context(settings()):
        picture = Picture(WIDTH, height, alt_text(cases, title))
        picture.text(0.012, 1 - 0.13 / height, title, size=LARGE, va="top")
        axes = picture.add_axes((0.17, FOOT / height, 0.79, BAR * len(cases) / height))
        left = [0.0] * len(cases)
        for place, name in enumerate(names):
            widths = [100 * float(parts[name]) for parts in cases.values()]
            look = {"color": COLOURS[place], "hatch": HATCHES[place], "edgecolor": INK, "linewidth": 0.8}
            axes.barh(range(len(cases)), widths, left=left, height=0.58, label=name, **look)
            for row, (start, width) in enumerate(zip(left, widths, strict=True)):
                inside = width >= 100 * NARROW
                if width:
                    box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5} if inside else None
                    look = {"ha": "center", "va": "center", "size": SMALL, "bbox": box}
                    axes.text(start + width / 2, row if inside else row - 0.44, f"{width:.1f}", **look)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(cases)), list(cases))
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel(t("shares.x"))
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.99), ncols=len(names), frameon=False)
    return picture


def alt_text(cases: Mapping[str, Mapping[str, float]], title: str) -> str:
    """Every share of every case."""
    said = [title]
    for case, parts in cases.items():
        told = (
            t("shares.part", name=name, percent=f"{100 * float(part):.3g}") for name, part in parts.items()
        )
        said.append(case + t("list.colon") + t("list.comma").join(told) + t("list.semicolon"))
    return t("list.stop").join(said)
