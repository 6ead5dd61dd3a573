"""A report's tenants: one bar a unit, cut into the tenants' shares. What is fair depends on the bar (C24)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
from matplotlib.font_manager import FontProperties

from labkit.show.picture import Picture
from labkit.show.style import DPI, HATCHES, INK, LARGE, PALETTE, SMALL, settings
from labkit.show.text import t

WIDTH, BAR, TITLE, FOOT, LEFT = 8.0, 0.46, 0.62, 0.6, 2.1  # inches
ROW, MARK = 0.28, 0.75  # inches of the legend: a row, a mark with its gaps
Shares = Mapping[str, float]


def shares(title: str, bars: Sequence[tuple[str, str, Shares]]) -> Picture:
    """Bars as (run, unit, tenant to share of 1), each named by its unit, and by its run where there are several."""
    tenants = list(dict.fromkeys(name for _, _, parts in bars for name in parts))
    runs = {run for run, _, _ in bars}
    with matplotlib.rc_context(settings()):
        across = _across(tenants)
        height = TITLE + ROW * -(-len(tenants) // across) + FOOT + BAR * len(bars)
        picture = Picture(WIDTH, height, alt_text(title, bars))
        picture.text(0.1 / WIDTH, 1 - 0.12 / height, title, size=LARGE, va="top")
        axes = picture.add_axes(
            (LEFT / WIDTH, FOOT / height, 1 - (LEFT + 0.3) / WIDTH, BAR * len(bars) / height)
        )
        for row, (_, _, parts) in enumerate(bars):
            left = 0.0
            for place, tenant in enumerate(tenants):
                share = 100 * parts.get(tenant, 0.0)
                look = {"color": PALETTE[place % len(PALETTE)], "hatch": HATCHES[place % len(HATCHES)]}
                if row == 0:
                    look["label"] = tenant
                axes.barh(row, share, 0.74, left=left, edgecolor=INK, linewidth=0.7, **look)
                if share >= 6:
                    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2, "alpha": 0.85}
                    axes.text(
                        left + share / 2, row, f"{share:.0f}", ha="center", va="center", size=SMALL, bbox=box
                    )
                left += share
        names = [unit if len(runs) == 1 else f"{unit} · {run}" for run, unit, _ in bars]
        axes.set_yticks(range(len(bars)), names)
        axes.set_ylim(len(bars) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(t("report.axis_share"))
        texts = [*axes.get_yticklabels()]
        if tenants:
            legend = picture.legend(
                *axes.get_legend_handles_labels(), loc="upper left", ncols=across, frameon=False, fontsize=SMALL,
                bbox_to_anchor=(LEFT / WIDTH - 0.02, 1 - 0.42 / height),
            )  # fmt: skip
            texts += legend.get_texts()
        for text in texts:
            text.set_parse_math(False)
    return picture


def _across(names: Sequence[str]) -> int:
    """How many names of a legend fit side by side."""
    measure, font = (
        Picture(1, 1).canvas.get_renderer().get_text_width_height_descent,
        FontProperties(size=SMALL),
    )
    longest = max((measure(name, font, False)[0] / DPI for name in names), default=0.0)
    return max(1, min(4, int((WIDTH - LEFT) / (MARK + longest))))


def alt_text(title: str, bars: Sequence[tuple[str, str, Shares]]) -> str:
    """Every share of every bar."""
    parts = [title]
    for run, unit, found in bars:
        said = t("list.comma").join(f"{tenant} {100 * share:.3g} %" for tenant, share in found.items())
        parts.append(t("report.alt_share", run=run, unit=unit, shares=said or "–"))
    return t("list.stop").join(parts)
