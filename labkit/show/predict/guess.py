"""A prediction: its question, what is kept of it, the truth when it may be seen, and how it is told.

The truth is a value or a function. A function is called only after a number or 跳过 was given; it may use
names that later cells define: as long as they are missing the cell says so, and it asks again after each cell
that runs.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from labkit.show.exact import number
from labkit.show.panels.beside import publish
from labkit.show.predict import store
from labkit.show.predict.numbers import exact, read_number
from labkit.show.tables import Table
from labkit.show.text import t

MOST_CHOICES = 9
_known: dict[tuple[str, str], Prediction] = {}


def predict(
    page: str,
    id: str,  # noqa: A002  (the word that the page uses)
    question: str,
    *,
    answer: object | Callable[[], object],
    unit: str = "",
    choices: Sequence[object] = (),
    guess: object = None,
) -> Prediction:
    """Ask for a number before the run; afterwards set it beside `answer` (a number, or what computes it).

    It is kept beside the notebook under `page` and `id` and comes back with the next run. `choices`: up to
    nine numbers, rising, that a class votes on with the digit keys. `guess`: the number in code, for where no
    widgets are.

    Raises:
        ValueError: a name, a choice or `guess` cannot be used.
    """
    made = Prediction(page, id, question, answer=answer, unit=unit, choices=choices)
    if guess is not None:
        made.give(str(guess))
        if made.problem:
            raise ValueError(made.problem)
    _known[page, id] = made
    _listen()
    return made


class Prediction:
    """One prediction on the page. `guess` and `truth` are numbers or None; `error` is guess − truth."""

    def __init__(
        self,
        page: str,
        id_: str,
        question: str,
        *,
        answer: object,
        unit: str = "",
        choices: Sequence[object] = (),
        folder: Path | None = None,
    ) -> None:
        self.page, self.id, self.question, self.unit = page, id_, question, unit
        self.choices = tuple(exact(choice) for choice in choices)
        if len(self.choices) > MOST_CHOICES or list(self.choices) != sorted(set(self.choices)):
            raise ValueError(f"choices: given {choices!r}, expected up to {MOST_CHOICES} rising numbers")
        self._answer = answer
        self._path = store.place(page, id_, folder)
        self.problem = ""  # what is wrong with the number just given, or with what was kept
        self.truth: Fraction | None = None
        self._untold = ""  # why the truth can't be told yet
        self._watchers: list[Callable[[], None]] = []
        self.kept = self._load()
        self.look()

    def _load(self) -> store.Kept:
        try:
            kept = store.load(self._path) or store.Kept()
        except store.Unreadable as reason:
            self.problem = t("predict.unreadable", reason=reason)
            kept = store.Kept()
        hands = kept.hands if len(kept.hands) == len(self.choices) else (0,) * len(self.choices)
        return store.Kept(kept.guess, kept.skipped, hands)

    @property
    def guess(self) -> Fraction | None:
        """The number that was given."""
        return self.kept.number

    @property
    def error(self) -> Fraction | None:
        """Guess − truth, where both are known."""
        return None if self.guess is None or self.truth is None else self.guess - self.truth

    # -------------------------------------------------------------- what a reader does

    def give(self, text: str) -> None:
        """A number is given. Where it is none, `problem` says so and nothing changes."""
        value = read_number(text, self.unit)
        if value is None:
            self.problem = t("predict.no_number", given=text[:20])
            return
        self._keep(store.Kept(_plain(value), False, self.kept.hands))

    def skip(self) -> None:
        """No number, but the truth may be seen."""
        self._keep(store.Kept(None, True, self.kept.hands))

    def again(self) -> None:
        """Forget the number; the truth is hidden again."""
        self._keep(store.Kept(None, False, self.kept.hands))

    def tally(self, hands: Sequence[int]) -> None:
        """Hands up for each choice."""
        counts = tuple(min(max(int(n), 0), store.MOST_HANDS) for n in hands)
        if len(counts) == len(self.choices):
            self._keep(store.Kept(self.kept.guess, self.kept.skipped, counts))

    def _keep(self, kept: store.Kept) -> None:
        self.kept, self.problem = kept, ""
        try:
            store.save(self._path, self.page, self.id, kept)
        except OSError as error:
            self.problem = t("predict.unsaved", reason=error.strerror or error)
        self.look()

    # -------------------------------------------------------------- the truth

    def look(self) -> None:
        """Compute the truth if it may be seen and isn't known yet; tell those who show it."""
        if not self.kept.answered:
            self.truth, self._untold = None, ""
        elif self.truth is None:
            try:
                self.truth = exact(self._answer() if callable(self._answer) else self._answer)
                self._untold = ""
            except NameError:
                self._untold = t("predict.later")
            except Exception as error:  # noqa: BLE001  (the page's own function: whatever it is, say it)
                self._untold = t("predict.failed", error=f"{type(error).__name__}: {error}")
        for watcher in self._watchers:
            watcher()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call `watcher` after every change."""
        self._watchers.append(watcher)

    @property
    def waits(self) -> bool:
        """The truth may be seen, but can't be computed yet."""
        return self.kept.answered and self.truth is None

    def with_unit(self, value: Fraction) -> str:
        """A number with the unit of this question."""
        return f"{number(value)} {self.unit}".strip()

    def says(self) -> str:
        """What is known in one line: nothing, that it waits, or guess, truth and error."""
        if not self.kept.answered:
            return ""
        if self.truth is None:
            return self._untold
        truth = self.with_unit(self.truth)
        if self.guess is None:
            return t("predict.truth", truth=truth)
        return t("predict.both", guess=self.with_unit(self.guess), truth=truth, verdict=self._verdict())

    def _verdict(self) -> str:
        error = self.error
        assert error is not None and self.truth is not None
        if error == 0:
            return t("predict.exact")
        key = "predict.more" if error > 0 else "predict.less"
        words = t(key, difference=self.with_unit(abs(error)))
        percent = round(abs(100 * error / self.truth)) if self.truth else 0
        if not percent or self.unit == "%":  # a percentage of a percentage only confuses
            return words
        return words + t("predict.share", percent=percent)

    # -------------------------------------------------------------- how it is shown

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        try:
            from labkit.show.predict.widget import PredictionWidget
        except ImportError:  # no widgets here
            return self._still_bundle()
        return {**PredictionWidget(self).view(), **self._still_bundle()}

    def _ipython_display_(self) -> None:
        renew = publish(self._repr_mimebundle_(), "labkit-predict")
        self.watch(lambda: renew(self._still_bundle()))

    def _still_bundle(self) -> dict[str, Any]:
        return {"text/html": self.still(), "text/plain": " ".join(filter(None, self._lines()))}

    def _lines(self) -> tuple[str, str, str]:
        return t("predict.first", question=self.question), self.says(), self.problem

    def still(self) -> str:
        """The still form: the question; guess, truth and error if a number is kept, else how to give one."""
        question, says, problem = map(html.escape, self._lines())
        told = says or html.escape(t("predict.still"))
        return (
            f'<div role="group" aria-label="{html.escape(t("predict.name"))}">'
            f"<p><strong>{question}</strong></p><p>{told}</p>{f'<p>{problem}</p>' if problem else ''}</div>"
        )


def _plain(value: Fraction) -> str:
    """An exact short form that `read_number` reads back: a decimal where there is one, else a fraction."""
    for places in range(16):
        scaled = value * 10**places
        if scaled.denominator == 1:
            digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
            whole, rest = digits[: len(digits) - places], digits[len(digits) - places :]
            return f"{'-' if value < 0 else ''}{whole}{'.' if rest else ''}{rest}"
    return str(value)


def guesses(page: str) -> Table:
    """What was guessed on a page since the kernel started, beside the truth: the page's score."""
    rows = []
    for made in (p for (own, _), p in _known.items() if own == page):
        guess = "–" if made.guess is None else made.with_unit(made.guess)
        truth = "–" if made.truth is None else made.with_unit(made.truth)
        error = "–" if made.error is None else f"{'+' if made.error > 0 else ''}{made.with_unit(made.error)}"
        rows.append([made.question, guess, truth, error])
    head = [t(f"predict.{key}") for key in ("question", "guess", "computed", "error")]
    return Table(t("predict.score"), head, rows)


def _listen() -> None:
    """Look again after each cell for truths that were not there yet. Outside of IPython: do nothing."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    shell: Any = get_ipython()
    if shell is not None and not getattr(_look_again, "listening", False):
        shell.events.register("post_run_cell", _look_again)
        _look_again.listening = True  # type: ignore[attr-defined]


def _look_again(*_: object) -> None:
    for made in list(_known.values()):
        if made.waits:
            made.look()
