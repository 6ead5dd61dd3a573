"""Prediction cells: a number asked for before the run, kept on disk, set beside the truth afterwards.

`guess.py` says what a prediction is and gives its still form, `store.py` keeps it, `widget.py` puts it on the
page (the only file here that imports widgets).
"""

from labkit.show.predict.guess import Prediction, guesses, predict

__all__ = ["Prediction", "guesses", "predict"]
