"""Each equation of the chapter three times: derived, counted or sampled, and measured from journals of the engine.

The derived value is taken from the machine-checked derivation itself: its symbols are put in, nothing is typed again.
The counted value comes from the definition, one by one (E31.1 to E31.8), or from a sampler (E31.9 to E31.13). The
measured one is a fold over the journal of a run of the engine. E31.14 is a rule and no law: see `admission`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from labkit.core.types import NS_PER_SECOND
from labkit.measure.fold import Measures
from labkit.scenario.load import load
from labkit.scenario.run import run, stream
from labkit.studies.seat_queue import Seats
from labkit.theory.queueing_counts import Estimate, Tally, estimate, of_tallies
from labkit.theory.queueing_laws import exponential, generator
from labkit.theory.queueing_samples import fifo

Number = int | float | Fraction
AT = Fraction(1, 10)  # seconds: where the tail is looked at
ATOM = 1e-11  # seconds: over the width of a tally's first bin, which holds the waits of 0
ROUNDS = 20  # of the engine in a mean service: its lengths are whole tokens


@dataclass(frozen=True)
class Row:
    """One quantity in its `unit`: by the derivation `derivation`, counted or sampled, measured by the engine.

    `shift`: what the engine's whole rounds are known to add to the measured value; 0 where nothing is random. `fails`:
    the key of what breaks the equation, and where that is shown.
    """

    equation: str
    quantity: str
    unit: str
    derivation: str
    derived: Number
    counted: Number | Estimate
    measured: Number | Estimate
    shift: float
    fails: str

    @property
    def agree(self) -> bool:
        """Exactly equal, or inside both intervals once the known shift is taken off."""
        return _holds(self.counted, self.derived, 0.0) and _holds(self.measured, self.derived, self.shift)


def _holds(found: Number | Estimate, derived: Number, shift: float) -> bool:
    if isinstance(found, Estimate):
        return found.covers(float(derived) + shift)
    return found == derived


def three_ways(*, replications: int = 8, requests: int = 3000, seed: int = 1) -> list[Row]:
    """All rows. The random ones are M/M/1 at λ = 80, μ = 100 (X4): 95 % intervals from `replications` runs.

    Each such interval misses once in twenty by its nature; nothing is tuned so that it does not.
    """
    return [*counted_rows(), *_queue(replications, requests, seed)]


def counted_rows() -> list[Row]:
    """The rows without chance, E31.1 to E31.8 and C11: all three values are equal."""
    return [*_requests(), *_batches(), *_areas()]


def claim(name: str, step: str, **given: Number) -> Any:
    """The right side of a derivation's step with numbers for its symbols: an exact sympy number where they are exact.

    `given` names symbols as the derivation writes them: `claim("mean_times", "sojourn", **{"\\\\lambda": 80, …})`.
    """
    import sympy as sp

    from labkit.theory import derive

    right = derive(name).step(step).claim.right
    values = {one: sp.Rational(given[one.name]) for one in right.free_symbols if one.name in given}
    return right.subs(values).doit()


def _exact(value: Any) -> Fraction:
    """A rational of sympy as Python's; TypeError for any other number."""
    if not value.is_Rational:
        raise TypeError(f"{value} is no rational number")
    return Fraction(int(value.p), int(value.q))


def _measured(document: dict[str, Any]) -> tuple[Measures, list[dict[str, Any]]]:
    done = run({"schema": "labkit.scenario/1", **document})
    fold = Measures()
    for event in done.journal:
        fold.feed(event)
    return fold.close(), done.journal[1:]


# ------------------------------------------------------------------------------------------- one request


def _requests() -> Iterator[Row]:
    """Q31.1's request: another one sits in its seat for 100 ms, its prompt takes 200, each of 30 gaps 20."""
    second = {"prompt_tokens": 10, "output_tokens": 31}
    fold, _ = _measured(
        {
            "budget": {"tokens": 16, "seats": 1},
            "cost": {"kind": "linear", "per_token": 0.02},
            "requests": [
                {"id": "before", "arrival": 0, "prompt_tokens": 5, "output_tokens": 1},
                {"id": "A", "arrival": 0, **second},
            ],
        }
    )
    times = next(request for request in fold.requests if request.id == "A")
    tpot = times.tpot()
    assert tpot is not None and times.last_emitted is not None
    parts = {"\\mathrm{TTFT}": times.ttft().ns, "\\mathrm{TPOT}": tpot.ns, "O": times.output}
    derived = _exact(claim("last_token", "identity", **parts)) / NS_PER_SECOND
    moments = [Fraction(3, 10) + Fraction(1, 50) * j for j in range(31)]
    measured = Fraction(times.last_emitted - times.sent, NS_PER_SECOND)
    yield Row("E31.1-2", "last_token", "s", "last_token", derived, moments[-1], measured, 0.0, "C02")


# ------------------------------------------------------------------------------------------- rounds and pages


def _batches() -> Iterator[Row]:
    lengths = (64, 64, 256)
    _, events = _measured(
        {
            "budget": {"tokens": 1024, "seats": 3},
            "policy": {"batching": "static"},
            "cost": {"kind": "padded", "per_token": 0.00001},
            "requests": [
                {"id": name, "arrival": 0, "prompt_tokens": length, "output_tokens": 1}
                for name, length in zip("ABC", lengths, strict=True)
            ],
        }
    )
    items = next(event["items"] for event in events if event["event"] == "plan")
    news = [new for _, new, _, _ in items]
    boxes = [(row, column) for row in range(3) for column in range(256)]
    filled = sum(column < lengths[row] for row, column in boxes)
    yield Row(
        "E31.3", "padded_linear", "", "padded_linear", _exact(claim("padded_linear", "asked")),
        Fraction(filled, len(boxes)), Fraction(sum(news), len(news) * max(news)), 0.0, "Q31.3",
    )  # fmt: skip
    squares = Fraction(sum(n * n for n in news), len(news) * max(news) ** 2)
    counted = Fraction(sum(n * n for n in lengths), 3 * 256 * 256)
    derived = _exact(claim("padded_attention", "asked"))
    yield Row("E31.3", "padded_attention", "", "padded_attention", derived, counted, squares, 0.0, "Q31.3")
    yield from _chunks()
    yield from _pages()


def _chunks(prompt: int = 4096, chunk: int = 512) -> Iterator[Row]:
    """A prompt alone, in chunks: its pairs whatever the chunks, and the positions that are read again."""
    _, events = _measured(
        {
            "budget": {"tokens": chunk, "seats": 1},
            "policy": {"prefill_chunk": chunk},
            "cost": {"kind": "linear", "fixed": 0.001},
            "requests": [{"id": "A", "arrival": 0, "prompt_tokens": prompt, "output_tokens": 1}],
        }
    )
    steps = [
        (new, context)
        for event in events
        if event["event"] == "plan"
        for _, new, context, _ in event["items"]
    ]
    measured = sum(new * context + new * (new + 1) // 2 for new, context in steps)
    counted = sum(position for position in range(1, prompt + 1))
    derived = _exact(claim("pair_count", "closed", s=0, q=prompt))
    yield Row("E31.4", "pairs", "", "pair_count", derived, Fraction(counted), Fraction(measured), 0.0, "C11")
    again = sum(context for _, context in steps)
    by_hand = sum(range(0, prompt, chunk))
    derived = _exact(claim("rereads", "closed", s=0, q=chunk, k=prompt // chunk))
    yield Row("C11", "rereads", "", "rereads", derived, Fraction(by_hand), Fraction(again), 0.0, "C08")


def _pages() -> Iterator[Row]:
    """X2's pair: 257 and 255 cached positions on pages of 16, and one decode each."""
    measured = run("x2_pair").result["rounds"][0]["pages_in_use"]
    cached = (("long", 258), ("short", 256))
    counted = len({(name, position // 16) for name, count in cached for position in range(count)})
    derived = _exact(claim("live_pages", "decoded"))
    yield Row("E31.5", "pages", "", "live_pages", derived, Fraction(counted), Fraction(measured), 0.0, "N11")


# ------------------------------------------------------------------------------------------- Little


def _areas() -> Iterator[Row]:
    """Q31.6's two stays, [0, 2) and [1, 3), on [0, 3]."""
    fold, _ = _measured(
        {
            "budget": {"tokens": 4, "seats": 2},
            "cost": {"kind": "table", "seconds": {"1": 1, "2": 1}},
            "requests": [
                {"id": "A", "arrival": 0, "prompt_tokens": 1, "output_tokens": 2},
                {"id": "B", "arrival": 1, "prompt_tokens": 1, "output_tokens": 2},
            ],
        }
    )
    area = Fraction(fold.residence.little("system").area, NS_PER_SECOND)
    stays = ((0, 2), (1, 3))
    slices = 600
    counted = Fraction(sum(a <= Fraction(k, 200) < c for k in range(slices) for a, c in stays), 200)
    derived = _exact(claim("residence_area", "asked"))
    yield Row("E31.6-8", "area", "s", "residence_area", derived, counted, area, 0.0, "C17")


# ------------------------------------------------------------------------------------------- M/M/1


def _queue(
    replications: int, requests: int, seed: int, arrival: int = 80, service: int = 100
) -> Iterator[Row]:
    """X4 at λ = 80: each law by derivation, by sampler, and by the engine with one seat."""
    rates: dict[str, Number] = {
        "\\lambda": arrival,
        "\\mu": service,
        "\\rho": Fraction(arrival, service),
        "t": AT,
    }
    engine = Seats(1, 1 / (service * ROUNDS), float(ROUNDS))
    law = engine.law(arrival)
    folds = [_engine(engine, arrival, requests, seed + k) for k in range(replications)]
    waits, stays = zip(*(_sampled(arrival, service, seed, k) for k in range(replications)), strict=True)
    ends = [Tally().add(np.array([float(r.sojourn("worker").ns) / 1e9 for r in f.requests])) for f in folds]
    _, stay_p99, stay_over = of_tallies(stays, tails=(float(AT),))
    _, end_p99, end_over = of_tallies(ends, tails=(float(AT),))

    def engines(pick: Callable[[Measures], Number | None]) -> Estimate:
        return estimate([float(pick(fold) or 0) for fold in folds])

    slower = law.mean_sojourn - float(claim("mean_times", "sojourn", **rates))
    emptier = law.idle_share - float(claim("stationary_law", "idle", **rates))
    by_sampler = {
        "empty": estimate([1 - tally.tail(ATOM) for tally in waits]),
        "number": estimate([arrival * tally.mean for tally in stays]),
        "sojourn": estimate([tally.mean for tally in stays]),
        "waiting": estimate([tally.mean for tally in waits]),
        "tail": stay_over[float(AT)],
        "p99": stay_p99[0.99],
    }
    by_engine = {
        "empty": engines(
            lambda fold: Fraction(sum(r.wait().ns == 0 for r in fold.requests), len(fold.requests))
        ),
        "number": engines(lambda fold: fold.residence.little("system").mean_number),
        "sojourn": estimate([tally.mean for tally in ends]),
        "waiting": engines(lambda fold: fold.residence.little("queue").mean_time),
        "tail": end_over[float(AT)],
        "p99": end_p99[0.99],
    }
    shifts = {"empty": emptier, "number": arrival * slower, "sojourn": slower, "waiting": slower}
    for equation, what, unit, name, step in (
        ("E31.9", "empty", "", "stationary_law", "idle"),
        ("E31.9", "number", "", "stationary_law", "inside"),
        ("E31.10", "sojourn", "s", "mean_times", "sojourn"),
        ("E31.10", "waiting", "s", "mean_times", "wait"),
        ("E31.11-13", "tail", "", "sojourn_law", "law_t"),
        ("E31.11-13", "p99", "s", "sojourn_law", "quantile"),
    ):
        derived = float(claim(name, step, **rates))
        exact = {"tail": law.sojourn_tail(float(AT)), "p99": law.sojourn_quantile(0.99)}
        shift = shifts[what] if what in shifts else exact[what] - derived
        yield Row(equation, what, unit, name, derived, by_sampler[what], by_engine[what], shift, "C18")


def _engine(engine: Seats, arrival: int, requests: int, seed: int) -> Measures:
    """One run, observed from the end of its warm-up for the time in which `requests` arrive on average."""
    dropped = engine.warmup(arrival)
    spare = requests // 10  # so that the load goes on to the end of the window
    start, end = (count * NS_PER_SECOND // arrival for count in (dropped, dropped + requests - spare))
    fold = Measures(start=start, end=end)
    stream(load(engine.scenario(arrival, dropped + requests, seed)), fold.feed)
    return fold.close()


def _sampled(arrival: int, service: int, seed: int, replication: int) -> tuple[Tally, Tally]:
    """Waits and sojourns of the sampler, which starts stationary."""
    waits, stays = Tally(), Tally()
    source = fifo(exponential(1 / arrival), exponential(1 / service), generator(seed, replication))
    for wait, stay in islice(source, 4):
        waits.add(wait)
        stays.add(stay)
    return waits, stays
