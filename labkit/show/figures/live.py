"""A picture that is laid out once and then only moved: what a panel shows at each step.

Drawing a whole figure takes most of a tenth of a second; the few artists that move, and the PNG, a fraction
of that. So everything that stays is drawn once and kept as pixels; a step restores them, draws the moving
artists above, and packs the result.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Hashable
from threading import RLock
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist

from labkit.show.picture import Picture
from labkit.show.style import settings

SIGNATURE = b"\x89PNG\r\n\x1a\n"
RGB, BITS = 2, 8
# JupyterLab hands a widget's messages to a thread of their own, and matplotlib's settings are the process's.
LAYING_OUT = RLock()


class LivePicture(Picture):
    """A picture whose `moving` artists are drawn above a background that is kept as pixels.

    After a change of anything else (a limit of an axis, a text that stands still) call `relaid()`, with a key
    where the same layout comes back: its background is drawn once. What it shows depends on the artists' state
    alone, not on earlier steps.
    """

    def __init__(self, width: float, height: float, alt: str = "") -> None:
        super().__init__(width, height, alt)
        self._moving: list[Artist] = []
        self._backgrounds: dict[Hashable, Any] = {}
        self._layout: Hashable = None

    def move(self, *artists: Artist) -> None:
        """These artists move from now on; they are drawn above all that stays, lowest `zorder` first."""
        for artist in artists:
            artist.set_animated(True)
        self._moving = sorted([*self._moving, *artists], key=lambda artist: artist.get_zorder())
        self._backgrounds.clear()

    def relaid(self, key: Hashable = None) -> None:
        """Something that stays has changed, to the layout called `key`; without one, to one never seen before."""
        self._layout = key
        if key is None:
            self._backgrounds.clear()

    def pixels(self) -> np.ndarray:
        """The picture as rows of red, green, blue, alpha bytes."""
        canvas: Any = self.canvas
        if self._layout not in self._backgrounds:
            # Ticks are made while drawing, so the settings are needed here; not for what is only moved.
            with LAYING_OUT, matplotlib.rc_context(settings()):
                canvas.draw()
            self._backgrounds[self._layout] = canvas.copy_from_bbox(self.bbox)
        canvas.restore_region(self._backgrounds[self._layout])
        for artist in self._moving:
            self.draw_artist(artist)
        return np.asarray(canvas.buffer_rgba())

    def png(self) -> bytes:
        """The picture as PNG."""
        return packed(self.pixels())


def packed(pixels: np.ndarray) -> bytes:
    """RGBA rows as PNG without alpha, at zlib's level 1 and without row filters.

    Flat areas and few colours need no filters: choosing them, as general writers do, doubles the time and
    makes a plot larger.
    """
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter: 0, none
    rows[:, 1:].reshape(height, width, 3)[...] = pixels[..., :3]
    head = struct.pack(">IIBBBBB", width, height, BITS, RGB, 0, 0, 0)
    body = zlib.compress(rows, 1)
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
