"""The derivations: they hold, they carry the ledger's rows and numbers, they refuse, and they can be read."""

import math
import random
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import sympy as sp

from labkit.bootstrap import ROOT
from labkit.theory import ALL, derivations, derive
from labkit.theory.derivation import Refused, derivation, step
from labkit.theory.evaluate import At, value
from labkit.theory.printers import Tex
from labkit.theory.rules import Claim, Evaluate, Given, Raise, Rearrange, Rewrite, Solve, Substitute
from labkit.theory.rules_calculus import Differentiate, Limit
from labkit.theory.rules_sums import Expect, Telescope
from labkit.theory.symbols import (
    ARRIVAL_RATE,
    SERVICE_RATE,
    STABLE,
    Exceeds,
    Reached,
    Within,
    positive,
    whole,
)
from labkit.theory.words import LANGUAGES, WORDS, common

NAMES = [name for _, name in ALL]
ROWS = {"E31.1", "E31.2", "E31.3", "E31.4", "E31.5", "E31.6-8", "E31.9", "E31.10", "E31.11-13"}
ROWS |= {"C11", "C19", "C21", "C22", "C27", "N07"}


# ---------------------------------------------------------------- they hold


@pytest.mark.parametrize("name", NAMES)
def test_every_step_is_checked_and_no_piecewise_is_left(name):
    made = derive(name)
    done = made.check()
    assert len(done) == len(made.steps)
    assert all(c.points >= 5 and c.error <= 1e-9 for c in done)
    assert any(c.symbolic for c in done)
    for s in made.steps:
        assert not s.claim.left.has(sp.Piecewise) and not s.claim.right.has(sp.Piecewise)
        assert not s.claim.right.has(sp.Heaviside, sp.lowergamma, sp.uppergamma, sp.zoo, sp.nan)


def test_each_row_of_the_ledger_has_a_derivation():
    """E31.1–E31.13 (E31.14 is a test, not a law), C11, C19, C21, C22, C27, N07, and two laws beyond the chapter."""
    found = derivations()
    assert found.keys() >= ROWS
    assert {d.name for d in found["beyond"]} == {"pollaczek_khinchine", "erlang_c", "many_servers_wait"}
    assert {d.name for row in found.values() for d in row} == set(NAMES)


def test_there_is_no_other_derivation():
    with pytest.raises(KeyError, match="sojourn_law"):
        derive("queue")


def result(name, step_name):
    claim = derive(name).step(step_name).claim
    assert claim.relation == "="
    return claim.right


@pytest.mark.parametrize(
    ("name", "step_name", "number"),
    [
        # X4 (E31.10, E31.13): milliseconds rounded as the chapter rounds them
        ("mean_times", "sojourn_80", 50), ("mean_times", "sojourn_95", 200),
        ("mean_times", "wait_80", 40), ("mean_times", "wait_95", 190),
        ("sojourn_law", "p99_80", 230), ("sojourn_law", "p99_95", 921),
        ("wait_law", "p99_80", 219), ("wait_law", "p99_95", 911),
    ],
)  # fmt: skip
def test_x4(name, step_name, number):
    """X4, E31.10, E31.11-13: μ = 100, λ = 80 and 95; the wait's p99 is another one."""
    assert round(1000 * float(result(name, step_name))) == number


@pytest.mark.parametrize(
    ("name", "step_name", "number"),
    [
        ("padded_linear", "asked", sp.Rational(1, 2)), ("padded_attention", "asked", sp.Rational(3, 8)),  # Q31.3
        ("live_pages", "cached", 33), ("live_pages", "decoded", 33), ("live_pages", "two_more", 34),  # X2, Q31.5
        ("live_pages", "fit", 64), ("residence_area", "asked", 4), ("long_run", "closed", sp.Rational(4, 3)),  # Q31.6
        ("long_run", "asked", 8), ("price", "load", sp.Rational(3, 16)),  # X3, N07
        ("independent", "at_300", sp.Rational(1999, 10**6)), ("comonotone", "asked", 300),  # C19
        ("union_attained", "p99", sp.Rational(2, 100)),
        ("buffer", "fill_asked", 8), ("buffer", "drain_asked", 16),  # C21
    ],
)  # fmt: skip
def test_numbers_of_the_ledger(name, step_name, number):
    """E31.3, X2, Q31.5, Q31.6, X3, N07, C19, C21."""
    assert result(name, step_name) == number


def test_numbers_that_are_rounded():
    """C19: p99 of two independent stages 230.0 ms; E31.4: the last chunk makes 126.75 times the first one's pairs."""
    assert round(float(result("independent", "asked")), 1) == 230.0
    assert round(float(result("pair_count", "ratio")), 2) == 126.75
    late = sum(range(32256 + 1, 32768 + 1))
    assert result("pair_count", "ratio") == sp.Rational(late, sum(range(1, 513)))


def test_the_results_are_the_chapters_formulas():
    """E31.4, E31.9, E31.10, E31.13, N07, C11, C21 as the ledger writes them."""
    lam, mu, rho, n = ARRIVAL_RATE, SERVICE_RATE, STABLE, whole("n")
    rho = next(s for s in STABLE if s.name == r"\rho")
    t, s, q, k = positive("t"), whole("s"), whole("q", 1), whole("k")
    assert result("pair_count", "closed") == q * s + q * (q + 1) / 2
    assert sp.expand(result("rereads", "closed") - k * s - q * k * (k - 1) / 2) == 0
    assert result("stationary_law", "law") == (1 - rho) * rho**n
    assert result("stationary_law", "inside") == rho / (1 - rho)
    assert result("waiting_number", "waiting") == rho**2 / (1 - rho)
    assert result("mean_times", "sojourn") == 1 / (mu - lam)
    assert result("mean_times", "wait") == rho / (mu - lam)
    assert result("price", "slope") == 1 / (mu - lam) ** 2
    assert result("sojourn_law", "law_t") == sp.exp(-(mu - lam) * t)
    assert result("sojourn_law", "quantile") == sp.log(100) / (mu - lam)
    assert sp.simplify(result("wait_law", "law_t") - lam / mu * sp.exp(-(mu - lam) * t)) == 0
    assert result("wait_law", "atom") == 1 - lam / mu


def test_all_of_them_take_at_most_ten_seconds():
    """Processor seconds of a fresh process that imports sympy and checks them all; the bench says how many exactly."""
    code = (
        "import time\nfrom labkit.theory import derivations\n"
        "for row in derivations().values():\n    for d in row: d.check()\nprint(time.process_time())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert float(done.stdout) <= 10


@pytest.mark.parametrize("name", NAMES)
def test_every_symbol_is_explained(name):
    """T31.1: each symbol that a derivation shows is bound to a name of labkit."""
    made = derive(name)
    used = set().union(*(made.names_of(s.claim) for s in made.steps))
    labels = {base.label for base in used if isinstance(base, sp.IndexedBase)}
    assert {u for u in used if not isinstance(u, sp.Indexed)} - labels <= {q.symbol for q in made.quantities}
    assert all(q.labkit.isidentifier() for q in made.quantities)


def test_the_package_alone_loads_nothing_heavy():
    code = "import sys, labkit.theory; print({'sympy', 'mpmath', 'numpy'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "set()"


# ---------------------------------------------------------------- they refuse

X, Y, N = positive("x"), positive("y"), whole("n")


def small(*steps, points=None, meanings=None):
    return derivation(
        "small", "none", *steps, quantities=(), source="none", meanings=meanings or {Y: lambda at: at[X] * at[X]},
        points=points or (lambda draw: {X: draw.randint(1, 9), N: draw.randint(1, 9)}),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([step("a", Given(), X, X)], r"'a' \(given\): nothing that it names has a meaning"),
        ([step("a", Given(), Y, X**3)], r"step 1 'a' \(given\): at .* its sides are"),
        ([step("a", Rewrite(), Y, X**2)], "no step before it"),
        ([step("a", Given(), Y, X**2), step("b", Rewrite(), Y, X**3)], r"step 2 'b' \(rewrite\): the rule gives"),
        ([step("a", Given(), Y, X**2), step("b", Rewrite(of="c"), Y, X**2)], "no earlier step 'c'"),
        ([step("a", Rewrite(of="b"), Y, X**2), step("b", Given(), Y, X**2)], "no earlier step 'b'"),
        ([step("a", Given(), Y, X**2), step("b", Solve(), X, sp.sqrt(Y) + 1)], "does not satisfy"),
        ([step("a", Given(), 0, (Y - X**2) * (Y - 1)), step("b", Solve(), Y, 1)], "may have other solutions"),
        ([step("a", Given(), Y, positive("z"))], "cannot be evaluated"),
    ],
)  # fmt: skip
def test_a_step_without_ground_is_refused(steps, message):
    with pytest.raises(Refused, match=message):
        small(*steps).check()


INDEX, P = whole("i"), sp.IndexedBase("p", real=True)


@pytest.mark.parametrize(
    ("rule", "claim", "message"),
    [
        (Raise(using=("bound",)), (0, 100 - 81, "<="), "does not grow with y"),
        (Expect(weight=P[INDEX], over=(INDEX, 1, N)), (0, 1, "<="), "may be negative"),
        (Rearrange(factor=X - 3), (0, (X - 3) * (100 - Y), "<="), "has no sure sign"),
        (Limit(to={Y: 100}), (0, 1), "the rule gives 0 = 0"),
        (Substitute(using=("bound",)), (0, 100 - 81, "<="), "step bound is no equation"),
        (Differentiate(by=X), (0, -1), "the rule gives"),
    ],
)  # fmt: skip
def test_a_rule_that_does_not_apply_is_refused(rule, claim, message):
    """An upper bound put where the side falls, a weight without a sign, a factor that may be zero."""
    steps = (
        step("bound", Given(), Y, 81, "<="),
        step("a", Given(), 0, 100 - Y, "<="),
        step("b", rule, *claim),
    )
    with pytest.raises(Refused, match=message):
        small(*steps).prove("b")


def test_a_limit_where_the_side_jumps_is_refused():
    steps = (step("a", Given(), 1 / Y, 1 / X**2), step("b", Limit(to={X: 0}), 1 / Y, sp.oo))
    with pytest.raises(Refused, match="is not continuous"):
        small(*steps).prove("b")


def test_two_steps_cannot_share_a_name():
    with pytest.raises(Refused, match="two steps have one name"):
        small(step("a", Given(), Y, X**2), step("a", Rewrite(), Y, X**2))


def test_a_sum_that_does_not_end_is_refused():
    """Σ of positive terms with G that does not vanish: no closed form from its first index alone."""
    total = sp.Sum(N, (N, 0, sp.oo))
    steps = (step("a", Given(), Y, total), step("b", Telescope(g=N * (N - 1) / 2), Y, 0))
    with pytest.raises(Refused, match="does not go to 0"):
        small(*steps).prove("b")


def test_indicators_at_the_ends():
    """[a, c) is closed on the left and open on the right, as E31.6 has it."""
    assert [Within(0, t, 2) for t in (-1, 0, 1, 2, 3)] == [0, 1, 1, 0, 0]
    assert [Reached(0, t) for t in (-1, 0, 1)] == [0, 1, 1]
    assert [Exceeds(t, 0) for t in (-1, 0, 1)] == [0, 0, 1]


def test_numbers_agree_with_sympys_own():
    """The evaluator against sympy, on expressions with every operation that it knows."""
    a, b, i = positive("a"), positive("b"), whole("i")
    cases = [
        a + b * 2, a / b, a**3, sp.sqrt(a), sp.exp(-a) * sp.log(b), sp.Max(a, b, 1), sp.Min(a, b), sp.ceiling(a / b),
        sp.floor(a / b), sp.factorial(4) * a, sp.Sum(a**i, (i, 0, 5)), sp.Sum((a / (a + b)) ** i, (i, 0, sp.oo)),
        sp.Integral(sp.exp(-a * b), (b, 0, sp.oo)), sp.Integral(a * b**2, (b, 1, 3)), sp.Derivative(sp.exp(a * a), a),
    ]  # fmt: skip
    draw = random.Random(7)
    for _ in range(3):
        numbers = {a: sp.Rational(draw.randint(1, 9), 4), b: sp.Rational(draw.randint(1, 9), 4)}
        at = At({k: value(v, At({}, {})) for k, v in numbers.items()}, {})
        for case in cases:
            wanted = float(case.doit().subs(numbers).evalf())
            assert math.isclose(float(value(case, at)), wanted, rel_tol=1e-9), case


# ---------------------------------------------------------------- they can be read


def test_every_step_has_its_words_in_both_languages():
    assert set(WORDS) == set(NAMES)
    for name in NAMES:
        made = derive(name)
        assert set(WORDS[name]) - {"conditions"} == {"title", *(s.name for s in made.steps)}, name
        for zh, en in [*WORDS[name].values(), *((q.zh, q.en) for q in made.quantities)]:
            assert zh and en
            assert not re.search(
                r"[,;:!?()](?![^$]*\$)", re.sub(r"\$[^$]*\$|\[[^\]]*\)|\[[^\]]*\]|\d,\d", "", zh)
            ), zh
            assert not re.search(r"[一-鿿][A-Za-z0-9$]|[A-Za-z0-9$][一-鿿]", zh), zh
            assert not re.search(r"[一-鿿，。]", en), en
    assert set(common("zh")) == set(common("en"))


class Tags(HTMLParser):
    """Checks that tags are closed in order, and keeps what a reader needs."""

    VOID = ("br", "hr", "img")

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.labels, self.text = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.labels += [v for k, v in attrs if k == "aria-label"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_html_is_whole_and_reads_without_its_pictures(name, language):
    made = derive(name)
    page = Tags()
    page.feed(made.to_html(language))
    page.close()
    assert page.open == []
    assert page.seen.count("li") == len(made.steps)
    assert page.seen.count("details") == len(made.steps) + 1 == page.seen.count("summary")
    assert len(page.labels) == len(made.steps) + 1
    assert all("\\" not in label and "{" not in label for label in page.labels[1:])
    assert page.text.count("$$") == 2 * len(made.steps)
    assert WORDS[name]["title"][LANGUAGES.index(language)] in page.text
    for claim in made.steps:
        assert Tex(made.assume).doprint(claim.claim.right) in page.text


@pytest.mark.parametrize("name", NAMES)
def test_markdown_has_the_same_parts(name):
    made = derive(name)
    text = made.to_markdown("zh")
    assert text.count("<details>") == text.count("</details>") == len(made.steps) + 1
    assert text.startswith("#### ")
    assert text.count("$$") == 2 * len(made.steps)
    assert len(re.findall(r"(?<!\\)(?<!\$)\$(?!\$)", re.sub(r"\$\$.*?\$\$", "", text))) % 2 == 0
    for block in re.findall(r"\$\$(.*?)\$\$", text):
        assert "\n" not in block
        assert block.count("{") == block.count("}")


def test_words_and_formulas_are_escaped(monkeypatch):
    monkeypatch.setitem(WORDS, "small", {"title": ("<b>&", "<b>&"), "a": ("甲 <i>", "a <i>")})
    made = small(step("a", Given(), Y, X**2, "<="))
    page = made.to_html("zh")
    assert "<b>" not in page and "<i>" not in page
    assert "&lt;b&gt;&amp;" in page
    within = Within(X, Y, N)
    shown = replace(made.steps[0], claim=Claim(within, within))
    assert r"1}\{x \le y &lt; n\}" in replace(made, steps=(shown,), meanings={Y: lambda at: 1}).to_html("en")


def test_differences_are_shown_as_they_are_positive():
    """1/(μ − λ) with λ < μ is shown so, not as −1/(λ − μ) nor 1/(−λ + μ)."""
    lam, mu, t = ARRIVAL_RATE, SERVICE_RATE, positive("t")
    printer = Tex(STABLE)
    assert printer.doprint(1 / (mu - lam)) == r"\frac{1}{\mu - \lambda}"
    assert printer.doprint(sp.exp(-(mu - lam) * t)) == r"e^{- t \left(\mu - \lambda\right)}"
    assert printer.doprint(-lam * (lam - mu)) == r"\lambda \left(\mu - \lambda\right)"
    assert printer.doprint((lam - mu) ** 2 * t) == r"t \left(\mu - \lambda\right)^{2}"
    assert printer.doprint(3 * t * (lam - mu)) == r"- 3 t \left(\mu - \lambda\right)"


def test_what_is_shown_equals_what_is_claimed():
    """The printer turns differences round: read back by their numbers the shown sides are the claimed ones."""
    lam, mu, t = ARRIVAL_RATE, SERVICE_RATE, positive("t")
    at = {"l": 3.0, "m": 5.0, "t": 0.7}
    for claimed in (
        (mu - lam) * t,
        -(mu - lam),
        (lam - mu) ** 3,
        t / (lam - mu),
        (lam - mu) * (mu - lam),
        1 - lam / mu,
    ):
        shown = (
            Tex(STABLE)
            .doprint(claimed)
            .replace(r"\lambda", " l ")
            .replace(r"\mu", " m ")
            .replace(r"\left(", "(")
            .replace(r"\right)", ")")
        )
        while r"\frac" in shown:
            shown = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", shown)
        shown = re.sub(r"(?<=[\w)])\s*\^\{(\d)\}", r"**\1", shown)
        shown = re.sub(r"(?<=[\w)])\s+(?=[\w(])", "*", re.sub(r"\s+", " ", shown).strip())
        wanted = float(claimed.subs({lam: 3, mu: 5, t: sp.Rational(7, 10)}))
        assert math.isclose(eval(shown, {}, at), wanted), (claimed, shown)


def test_the_language_is_the_readers(monkeypatch):
    made = derive("pair_count")
    monkeypatch.delenv("LABKIT_LANG", raising=False)
    assert made._repr_html_() == made.to_html("zh")
    monkeypatch.setenv("LABKIT_LANG", "en")
    assert made._repr_markdown_() == made.to_markdown("en")
    with pytest.raises(ValueError, match="given 'de', expected one of zh, en"):
        made.to_html("de")


def test_a_wrong_derivation_is_not_shown():
    made = derive("pair_count")
    last = made.steps[-1]
    wrong = replace(
        made, steps=(*made.steps[:-1], replace(last, claim=Claim(last.claim.left, 127 * sp.S.One)))
    )
    with pytest.raises(Refused, match="'ratio'"):
        wrong.to_html("zh")
    with pytest.raises(Refused, match="'ratio'"):
        wrong._repr_markdown_()


def test_evaluate_fixes_the_points():
    """A step that puts numbers in is measured at those numbers, not at the drawn ones."""
    good = small(step("a", Given(), Y, X**2), step("b", Evaluate(values={X: 12}), Y, 144))
    assert good.check()[1].error == 0
    bad = small(step("a", Given(), Y, X**2), step("b", Evaluate(values={X: 12}), Y, 145))
    with pytest.raises(Refused, match="its sides are 144 and 145"):
        bad.measure("b")
