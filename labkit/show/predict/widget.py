"""A prediction on the page: a field, buttons, and for a class a show of hands with its histogram.

The browser half is `predict.js`. Each of its messages repeats what is not answered yet (all hands, the last wish):
messages that melt into one while the kernel is busy lose nothing then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from labkit.show.predict.guess import Prediction
from labkit.show.text import t

HERE = Path(__file__).parent
WORDS = (
    *("name", "field", "give", "skip", "again", "hands", "reveal", "clear", "keys", "silent"),
    *("hand", "tally", "mark"),
)
BRACES = ("label", "count", "total", "truth")


class PredictionWidget(anywidget.AnyWidget):
    """The widget of one prediction. `asked` comes from the browser, all else goes to it.

    `answered` is the serial of the last wish that was carried out: until its own is, a browser that counts hands
    is ahead of the kernel.
    """

    _esm = (HERE / "predict.js").read_text(encoding="utf-8")
    _css = (HERE / "predict.css").read_text(encoding="utf-8")
    words = traitlets.Dict().tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    unit = traitlets.Unicode().tag(sync=True)
    choices = traitlets.List().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    answered = traitlets.Unicode().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    says = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)
    truth = traitlets.Dict().tag(sync=True)
    version = traitlets.Int(0).tag(sync=True)

    def __init__(self, prediction: Prediction) -> None:
        self._prediction = prediction
        # Words with braces of their own are filled in by the browser.
        words = {key: t(f"predict.{key}", **{b: f"{{{b}}}" for b in BRACES}) for key in WORDS}
        choices = [{"label": prediction.with_unit(c), "value": float(c)} for c in prediction.choices]
        question = t("predict.first", question=prediction.question)
        super().__init__(words=words, question=question, unit=prediction.unit, choices=choices)
        self._tell()
        prediction.watch(self._tell)
        self.observe(self._asked, "asked")

    def view(self) -> dict[str, Any]:
        """The mime bundle that shows this widget."""
        shown: Any = self._repr_mimebundle_()
        return dict(shown[0] if isinstance(shown, tuple) else shown)

    def _asked(self, change: Any) -> None:
        asked, own = change["new"], self._prediction
        hands = asked.get("hands")
        if isinstance(hands, list) and tuple(hands) != own.kept.hands:
            own.tally(hands)
        wish = asked.get("wish")
        if wish == "give":
            own.give(str(asked.get("text", "")))
        elif wish == "skip":
            own.skip()
        elif wish == "again":
            own.again()
        self.answered = str(asked.get("serial", ""))
        self._tell()

    def _tell(self) -> None:
        """Send all that is known; the truth only once it may be seen."""
        own = self._prediction
        truth = own.truth if own.kept.answered else None
        with self.hold_sync():
            self.state = {"guess": own.kept.guess, "skipped": own.kept.skipped, "hands": list(own.kept.hands)}
            self.says = own.says()
            self.problem = own.problem
            self.truth = {} if truth is None else {"value": float(truth), "text": own.with_unit(truth)}
            self.version += 1
