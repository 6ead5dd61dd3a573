"""Exact laws of queues, against the chapter's figures and against other derivations of the same."""

import itertools
import math

import numpy as np
import pytest

from labkit.theory.queueing import MM1, MMc, erlang_b, transient_waits
from labkit.theory.queueing_general import GIM1, MD1, MG1, kingman_approximation, kingman_bound
from labkit.theory.queueing_laws import deterministic, exponential, gamma, hyperexponential, lognormal, pareto
from labkit.theory.queueing_orders import (
    FiniteRoom,
    LastComeFirstServed,
    Lifetime,
    Patience,
    TwoClasses,
    losses,
    processor_sharing,
)


def integral(tail, upto, pieces=20_000):
    """Return the integral of a tail by Simpson's rule: the mean of its law."""
    t = np.linspace(0, upto, pieces + 1)
    y = np.array([tail(x) for x in t])
    return float((y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum()) * upto / pieces / 3)


@pytest.mark.parametrize(
    ("rate", "mean", "p99", "wait", "wait_p99"), [(80, 50, 230, 40, 219), (95, 200, 921, 190, 911)]
)
def test_x4_e31_10_e31_13(rate, mean, p99, wait, wait_p99):
    """X4, E31.10, E31.13: the chapter's ms at mu = 100; the wait has its own law."""
    queue = MM1(rate, 100)
    assert 1000 * queue.mean_sojourn == pytest.approx(mean, rel=1e-12)
    assert round(1000 * queue.sojourn_quantile(0.99)) == p99
    assert 1000 * queue.mean_wait == pytest.approx(wait, rel=1e-12)
    assert round(1000 * queue.wait_quantile(0.99)) == wait_p99
    assert queue.wait_tail(0) == pytest.approx(rate / 100)
    assert queue.wait_tail(-1e-9) == 1
    assert queue.wait_quantile(0.04) == 0
    assert queue.sojourn_tail(queue.sojourn_quantile(0.37)) == pytest.approx(0.63)
    assert queue.wait_tail(queue.wait_quantile(0.99)) == pytest.approx(0.01)


def test_e31_9_and_e31_11_from_the_states():
    """E31.9, E31.11: an arrival that finds n waits for n + 1 Erlang stages; their mixture is E31.13."""
    queue, t = MM1(80, 100), 0.07
    states = [queue.state(n) for n in range(400)]
    assert math.fsum(states) == pytest.approx(1)
    assert math.fsum(n * p for n, p in enumerate(states)) == pytest.approx(queue.mean_customers)
    stages, poisson = [], 0.0
    for n in range(400):
        poisson += math.exp(-100 * t + n * math.log(100 * t) - math.lgamma(n + 1))
        stages.append(poisson)  # Pr(n + 1 stages take longer than t)
    assert math.fsum(p * s for p, s in zip(states, stages, strict=True)) == pytest.approx(
        queue.sojourn_tail(t)
    )
    assert queue.mean_customers == pytest.approx(80 * queue.mean_sojourn)  # E31.8


def test_n07_the_price_of_saturation():
    """N07: 18.75 % more load, four times the mean; the slope of E[T] is its square."""
    assert 95 / 80 == 1.1875
    assert MM1(95, 100).mean_sojourn / MM1(80, 100).mean_sojourn == pytest.approx(4)
    step = 1e-4
    slope = (MM1(80 + step, 100).mean_sojourn - MM1(80 - step, 100).mean_sojourn) / (2 * step)
    assert slope == pytest.approx(MM1(80, 100).mean_sojourn ** 2, rel=1e-6)


def test_erlang_by_its_sums():
    offered, servers = 6.4, 8
    terms = [offered**n / math.factorial(n) for n in range(servers + 1)]
    assert erlang_b(offered, servers) == pytest.approx(terms[-1] / sum(terms))
    busy = terms[-1] / (1 - offered / servers)
    queue = MMc(6.4, 1, 8)
    assert queue.wait_probability == pytest.approx(busy / (sum(terms[:-1]) + busy))
    assert integral(queue.wait_tail, 25) == pytest.approx(queue.mean_wait, rel=1e-6)
    assert integral(queue.sojourn_tail, 40) == pytest.approx(queue.mean_sojourn, rel=1e-6)
    assert queue.sojourn_tail(queue.sojourn_quantile(0.99)) == pytest.approx(0.01)
    assert queue.wait_tail(queue.wait_quantile(0.99)) == pytest.approx(0.01)


def test_one_server_of_several_is_mm1():
    one, several = MM1(80, 100), MMc(80, 100, 1)
    for t in (0, 0.01, 0.2, 1.0):
        assert several.sojourn_tail(t) == pytest.approx(one.sojourn_tail(t))
        assert several.wait_tail(t) == pytest.approx(one.wait_tail(t))
    assert several.mean_sojourn == pytest.approx(one.mean_sojourn)


def test_several_servers_where_the_two_rates_meet():
    """The tail goes through drain = mu without a jump: there it is e^(-mu t) (1 + C mu t)."""
    meet = MMc(7, 1, 8)
    assert meet.drain == 1
    assert meet.sojourn_tail(2.0) == pytest.approx(math.exp(-2) * (1 + 2 * meet.wait_probability))
    assert MMc(7 + 1e-9, 1, 8).sojourn_tail(2.0) == pytest.approx(meet.sojourn_tail(2.0), rel=1e-6)


def test_pollaczek_khinchine():
    assert MG1(80, exponential(0.01)).mean_wait == pytest.approx(MM1(80, 100).mean_wait)
    assert MG1(80, deterministic(0.01)).mean_wait == pytest.approx(MM1(80, 100).mean_wait / 2)
    assert MG1(80, gamma(0.01, 3)).mean_wait == pytest.approx(MM1(80, 100).mean_wait * 2)
    assert MG1(80, lognormal(0.01, 3)).mean_customers == pytest.approx(0.8 + 80 * MM1(80, 100).mean_wait * 2)


def test_md1_is_a_law_with_the_mean_of_pollaczek_and_khinchine():
    queue = MD1(80, 100)
    assert queue.wait_tail(0) == pytest.approx(0.8)
    assert queue.wait_tail(-1e-9) == 1
    assert integral(queue.wait_tail, 0.6, 240) == pytest.approx(queue.mean_wait, rel=1e-4)
    assert queue.mean_sojourn == pytest.approx(MG1(80, deterministic(0.01)).mean_sojourn)
    assert queue.sojourn_tail(queue.sojourn_quantile(0.99)) == pytest.approx(0.01)


def test_md1_far_out_keeps_its_digits():
    """Its tail ends as exp(-theta t), theta the root of lambda (e^(theta D) - 1) = theta."""
    queue, low, high = MD1(95, 100), 1.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if 95 * math.expm1(middle / 100) < middle else (low, middle)
    fallen = queue.wait_tail(1.3) / queue.wait_tail(1.2)
    assert fallen == pytest.approx(math.exp(-low / 10), rel=1e-9)


def test_general_gaps():
    """Poisson gaps give rho; balanced hyperexponential ones the root of a quadratic; fixed ones a fixed point."""
    assert GIM1(exponential(1 / 80), 100).sigma == pytest.approx(0.8, rel=1e-9)
    assert GIM1(exponential(1 / 80), 100).sojourn_tail(0.1) == pytest.approx(MM1(80, 100).sojourn_tail(0.1))
    sigma = GIM1(deterministic(1 / 80), 100).sigma
    assert sigma == pytest.approx(math.exp(-(1 - sigma) / 0.8), rel=1e-9)
    assert sigma < 0.8 < GIM1(hyperexponential(1 / 80, 4), 100).sigma
    with pytest.raises(ValueError, match="Laplace transform"):
        GIM1(lognormal(1 / 80, 2), 100)


def test_kingman_is_exact_for_poisson_and_a_bound_for_all():
    service = gamma(0.01, 2)
    assert kingman_approximation(exponential(1 / 80), service) == pytest.approx(MG1(80, service).mean_wait)
    for gap in (deterministic(1 / 80), gamma(1 / 80, 4), exponential(1 / 80)):
        assert GIM1(gap, 100).mean_wait <= kingman_bound(gap, exponential(0.01))
    assert kingman_approximation(exponential(1 / 6.4), exponential(1), 8) == pytest.approx(
        MMc(6.4, 1, 8).mean_wait
    )


@pytest.mark.parametrize("rho", [0.3, 0.8, 0.95])
def test_processor_sharing_has_the_mean_and_another_tail(rho):
    """E31.10 holds, E31.13 does not: Var T = (2 + rho)/(2 - rho) E[T]^2 (Ott 1984), more than FCFS's E[T]^2."""
    law, queue = processor_sharing(rho, 1), MM1(rho, 1)
    assert law.mean == pytest.approx(queue.mean_sojourn, rel=1e-9)
    upto = 60 * queue.mean_sojourn
    square = 2 * integral(lambda t: t * law.tail(t), upto, 300)
    assert square - queue.mean_sojourn**2 == pytest.approx(
        (2 + rho) / (2 - rho) * queue.mean_sojourn**2, rel=1e-3
    )
    assert law.quantile(0.99) > 1.1 * queue.sojourn_quantile(0.99)


def test_last_come_first_served():
    """E[Wq^2] under LCFS is that under FCFS over 1 - rho (Kleinrock II)."""
    law, queue, rho = LastComeFirstServed(80, 100).sojourn, MM1(80, 100), 0.8
    assert law.mean == pytest.approx(queue.mean_sojourn, rel=1e-9)
    square = 2 * integral(lambda t: t * law.tail(t), 12, 600)
    fcfs = rho * 2 * queue.mean_sojourn**2 / (1 - rho)
    expected = fcfs + 2 * queue.mean_wait / 100 + 2 / 100**2  # E[(Wq + S)^2]
    assert square == pytest.approx(expected, rel=1e-3)


def test_two_classes_share_the_wait_out():
    """Cobham: who goes first gains what the others lose, weighted by their rates."""
    first, second = TwoClasses(30, 50, 100).mean_waits
    assert (30 * first + 50 * second) / 80 == pytest.approx(MM1(80, 100).mean_wait)
    assert first == pytest.approx(0.008 / 0.7)


@pytest.mark.parametrize(("rate", "room"), [(80, 1), (80, 9), (100, 4), (130, 20)])
def test_finite_room_by_little(rate, room):
    """E31.8 with those let in alone: E[N] = lambda (1 - loss) E[T]."""
    queue = FiniteRoom(rate, 100, room)
    inside = float(queue.states @ np.arange(room + 1))
    assert queue.sojourn.mean * rate * (1 - queue.loss) == pytest.approx(inside)
    assert queue.loss == pytest.approx((rate / 100) ** room / sum((rate / 100) ** n for n in range(room + 1)))
    assert integral(queue.sojourn.tail, 1.5, 1500) == pytest.approx(queue.sojourn.mean, rel=1e-6)


def test_n06_the_same_mean_loses_differently():
    """N06: mean 8 in the system says nothing of a limit of 8: one queue loses 7 % there, the other 24 %; at 24 they
    have changed places.
    """
    rho = 8 / 9
    assert MM1(rho, 1).mean_customers == pytest.approx(8)
    (eight, one, many), (_, later, few) = losses(8, (8, 24))
    assert eight == 8
    assert one == pytest.approx(rho**8 / sum(rho**n for n in range(9)))
    assert many == pytest.approx(8**8 / math.factorial(8) / sum(8**n / math.factorial(n) for n in range(9)))
    assert round(one, 2) == 0.07 and round(many, 2) == 0.24
    assert later > 0.006 > 1e-4 > few


@pytest.mark.parametrize(("rate", "patience"), [(80, 0.1), (150, 0.05), (100, 10.0)])
def test_patience_by_the_flows(rate, patience):
    """What comes is served or leaves, in the long run: lambda (share that leaves) = lambda - mu (1 - pi_0)."""
    queue = Patience(rate, 100, patience)
    served = 100 * (1 - float(queue.states[0]))
    assert queue.abandonment * rate == pytest.approx(rate - served, rel=1e-6)
    # all wait E[Nq]/lambda on average; those who leave wait their patience
    assert queue.served.mean > 1 / 100
    assert queue.served.tail(0) == pytest.approx(1)


def test_endless_patience_is_mm1():
    served = Patience(80, 100, 1e9).served
    assert served.mean == pytest.approx(0.05, rel=1e-4)
    assert served.tail(0.2) == pytest.approx(MM1(80, 100).sojourn_tail(0.2), rel=1e-4)


def test_few_leave_where_nearly_all_are_served():
    """At lambda -> 0 who leaves found one in service and lost patience first: lambda/mu times 1/(1 + mu patience)."""
    assert Patience(1e-9, 1, 1).abandonment == pytest.approx(1e-9 / 2, rel=1e-6)


def test_a_nearly_full_server_needs_no_matrix():
    """55,000 states, and the means of E31.10; every state's rates once, where a matrix of them had 24 GB."""
    assert processor_sharing(0.999, 1).mean == pytest.approx(1000, rel=1e-9)
    assert LastComeFirstServed(0.999, 1).sojourn.mean == pytest.approx(1000, rel=1e-9)


def test_the_mean_of_a_lifetime_is_the_area_under_its_tail():
    """Up, down and out at once, with another rate in every state."""
    chain = Lifetime(
        np.array([0.2, 0.5, 0.3]),
        np.array([1.0, 2.0, 0.0]),
        np.array([0.0, 0.5, 3.0]),
        np.array([1.5, 0.25, 1.0]),
    )
    assert chain.mean == pytest.approx(integral(chain.tail, 60.0), rel=1e-6)


def test_many_servers_hardly_ever_let_wait():
    """Erlang's C is 0 in doubles there: no wait at any level, and no logarithm of 0."""
    queue = MMc(1, 1, 400)
    assert queue.wait_probability == 0
    assert queue.wait_quantile(0.999) == 0
    assert queue.sojourn_quantile(0.99) == pytest.approx(math.log(100))


def test_a_lifetime_of_two_stages_by_hand():
    """State 1, then 0, then out, at rate 2 each: Erlang-2."""
    two = Lifetime(np.array([0.0, 1.0]), np.zeros(2), np.array([0.0, 2.0]), np.array([2.0, 0.0]))
    assert two.mean == pytest.approx(1)
    assert two.tail(1.5) == pytest.approx(math.exp(-3) * 4, rel=1e-10)
    assert two.tail(two.quantile(0.99)) == pytest.approx(0.01)


def test_from_empty_the_waits_climb_to_the_stationary_mean():
    """The second customer waits if its gap is shorter than the first service: E = rho/(mu (1 + rho))."""
    waits = transient_waits(80, 100, 1500)
    assert waits[0] == 0
    assert waits[1] == pytest.approx(0.8 / 100 / 1.8)
    assert all(a < b for a, b in itertools.pairwise(waits[:100]))
    assert waits[-1] == pytest.approx(MM1(80, 100).mean_wait, rel=1e-6)


def test_at_full_load_the_waits_grow_as_the_root():
    """rho = 1: sqrt(2 n/pi) times the deviation of S - A, which is sqrt(2)/mu; N04."""
    waits = transient_waits(100, 100, 3000)
    assert waits[-1] == pytest.approx(math.sqrt(2 * 2999 / math.pi) * math.sqrt(2) / 100, rel=0.02)
    over = transient_waits(120, 100, 2000)
    assert over[-1] - over[-2] == pytest.approx(1 / 100 - 1 / 120, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: MM1(100, 100), "given 100/s where 1 x 100/s can be served"),
        (lambda: MM1(-1, 100), "arrival_rate: given -1"),
        (lambda: MMc(1, 1, 0), "servers: given 0"),
        (lambda: erlang_b(1, 2.5), "servers: given 2.5"),
        (lambda: erlang_b(1, -1), "servers: given -1"),
        (lambda: MM1(80, 100).sojourn_quantile(99), "p: given 99"),
        (lambda: FiniteRoom(1, 1, 0), "room: given 0"),
        (lambda: Patience(1, 1, 0), "patience: given 0"),
        (lambda: gamma(1, 0), "scv: given 0"),
        (lambda: pareto(1, 2), "exponent: given 2"),
        (lambda: hyperexponential(1, 0.5), "scv: given 0.5"),
        (lambda: exponential(math.nan), "mean: given nan"),
        (lambda: MD1(120, 100), "expected less"),
    ],
)
def test_wrong_input_is_told(make, said):
    with pytest.raises(ValueError, match=said):
        make()
