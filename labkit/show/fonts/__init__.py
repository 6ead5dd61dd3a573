"""The lab's own Chinese font for matplotlib, and the list of families that a plot tries in turn.

`LabkitSansSC-Regular.otf` is a subset of Noto Sans SC with the characters of the lab's visible strings (see
README.md here for its origin and changes, OFL.txt for its licence, `build.py` for how it is made). A
character that it lacks is looked for in a Chinese font of the system, where there is one, then in DejaVu
Sans.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

FAMILY = "Labkit Sans SC"
FONT = Path(__file__).with_name("LabkitSansSC-Regular.otf")
CHARACTERS = Path(__file__).with_name("characters.txt")

SYSTEM_FAMILIES = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "SimHei",
    "Heiti SC",
    "Heiti TC",
    "STHeiti",
    "Noto Sans CJK JP",
    "Droid Sans Fallback",
    "Arial Unicode MS",
)


@cache
def families() -> tuple[str, ...]:
    """Font families to set in matplotlib's `font.family`, best first; all of them exist, so none warns.

    Registers the lab's font with matplotlib on the first call: no network, no file written.
    """
    from matplotlib import font_manager

    font_manager.fontManager.addfont(FONT)
    here = set(font_manager.fontManager.get_font_names())
    return (FAMILY, *(name for name in SYSTEM_FAMILIES if name in here), "DejaVu Sans")


def covered() -> frozenset[str]:
    """The characters that the lab's font can draw, as recorded when it was built."""
    return frozenset(CHARACTERS.read_text(encoding="utf-8")) - {"\n"}
