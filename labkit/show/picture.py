"""A matplotlib figure that brings its own alternative text, and shows itself as an HTML image in a notebook.

It is a plain `Figure` on an Agg canvas: pyplot knows nothing of it, so nothing is drawn twice and nothing
leaks.
"""

from __future__ import annotations

import base64
import html
import io
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from labkit.show.style import DPI, PAPER, settings

CSS_PX_PER_INCH = 96


class Picture(Figure):
    """A figure of `width` by `height` inches with an alternative text, `alt`, that states its numbers."""

    def __init__(self, width: float, height: float, alt: str = "") -> None:
        super().__init__(figsize=(width, height), dpi=DPI, facecolor=PAPER)
        FigureCanvasAgg(self)
        self.alt = alt

    def png(self) -> bytes:
        """The picture as PNG, quickly (level 1), at `DPI` dots an inch."""
        out = io.BytesIO()
        with matplotlib.rc_context(settings()):
            self.canvas.print_png(out, pil_kwargs={"compress_level": 1})
        return out.getvalue()

    def html(self) -> str:
        """An `<img>` with the picture inside it and the alternative text, at most as wide as the page."""
        data = base64.b64encode(self.png()).decode("ascii")
        width = round(self.get_figwidth() * CSS_PX_PER_INCH)
        style = f"width:{width}px;max-width:100%;height:auto;background:{PAPER}"
        return f'<img src="data:image/png;base64,{data}" alt="{html.escape(self.alt)}" style="{style}">'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.alt}
