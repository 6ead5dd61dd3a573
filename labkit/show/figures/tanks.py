"""C20: back-pressure as four tanks: with the chain whole each stays low, with its own link cut it fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib

from labkit.show.picture import Picture
from labkit.show.style import ALARM, LARGE, NORMAL, PALETTE, settings
from labkit.show.text import t

WIDTH, HEIGHT = 8.0, 4.9  # inches
LINKS = ("output", "active", "queue", "entry")  # from the client back to the door
PLACES = ((0.075, 0.555), (0.58, 0.555), (0.075, 0.12), (0.58, 0.12))
SIZE = (0.4, 0.285)

Points = Sequence[tuple[float, float]]


def tanks(whole: Mapping[str, Points], cut: Mapping[str, Points]) -> Picture:
    """The level of each link's tank over time, in s: `whole`, and `cut` with that very link cut.

    Raises ValueError where a link is missing.
    """
    if set(whole) != set(LINKS) or set(cut) != set(LINKS):
        raise ValueError(
            f"given {', '.join(whole)} and {', '.join(cut)}, expected {', '.join(LINKS)} in both"
        )
    with matplotlib.rc_context(settings()):
        picture = Picture(WIDTH, HEIGHT, alt_text(whole, cut))
        picture.text(0.012, 0.975, t("tanks.title"), size=LARGE, va="top")
        end = float(max((x for paths in (whole, cut) for path in paths.values() for x, _ in path), default=1))
        for link, place in zip(LINKS, PLACES, strict=True):
            axes = picture.add_axes((*place, *SIZE))
            for path, look in (
                (
                    cut[link],
                    {"color": ALARM, "label": t("tanks.cut"), "linewidth": 1.6, "linestyle": "solid"},
                ),
                (
                    whole[link],
                    {"color": PALETTE[4], "label": t("tanks.whole"), "linewidth": 2.2, "linestyle": "dashed"},
                ),
            ):
                xs, ys = [0.0, *(float(x) for x, _ in path), end], [0.0, *(float(y) for _, y in path)]
                ys.append(ys[-1])
                axes.step(xs, ys, where="post", **look)
            axes.set_title(t(f"tanks.{link}"), size=NORMAL, loc="left")
            axes.set_xlim(0, end)
            axes.set_ylim(0, None)
            if link in LINKS[2:]:
                axes.set_xlabel(t("fluid.x"))
        handles, labels = axes.get_legend_handles_labels()
        picture.legend(handles, labels, loc="upper right", bbox_to_anchor=(0.99, 1.0), ncols=2, frameon=False)
    return picture


def alt_text(whole: Mapping[str, Points], cut: Mapping[str, Points]) -> str:
    """How high each tank goes, whole and cut."""
    said = []
    for link in LINKS:
        peaks = {
            name: f"{max((float(y) for _, y in paths[link]), default=0):g}"
            for name, paths in (("whole", whole), ("cut", cut))
        }
        said.append(t("tanks.alt", name=t(f"tanks.{link}"), **peaks))
    return t("tanks.title") + t("list.stop") + t("list.semicolon").join(said)
