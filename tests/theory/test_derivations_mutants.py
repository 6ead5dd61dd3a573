"""A wrong step is refused, by name, by its rule and by its numbers each for itself.

Each claim is changed in one place: a sign, a factor, an index, an exponent. An equation must be refused at that very
step by both halves of the check (a premise by its numbers). A changed inequality may still be true: then a later step
no longer follows.
"""

import random
from dataclasses import replace

import pytest

from labkit.theory import ALL, derive
from labkit.theory.derivation import Refused
from tests.theory.mutants import KINDS, of_claim

NAMES = [name for _, name in ALL]
# In the first of the three outcomes of this law the second stage is never late: the sum may start after it.
TRUE_THERE = {("union_attained", "second_sum", "index")}


def changed(derivation, name, claim):
    steps = tuple(replace(s, claim=claim) if s.name == name else s for s in derivation.steps)
    return replace(derivation, steps=steps)


def refusal(check, name):
    with pytest.raises(Refused) as refused:
        check(name)
    return str(refused.value)


def accepted_halves(derivation, step, claim):
    """Which halves of the check let a wrong equation pass (none is right)."""
    wrong, passed = changed(derivation, step.name, claim), []
    halves = {"numbers": wrong.measure, **({"rule": wrong.prove} if step.rule.symbolic else {})}
    for half, check in halves.items():
        try:
            check(step.name)
        except Refused as refused:
            said = str(refused)
        else:
            said = ""
        if f"derivation {derivation.name}, step" not in said or repr(step.name) not in said:
            passed.append(half)
    return passed


def mutants(derivation, most=None):
    """All mutants of all steps, or at most so many of a kind and step, drawn by a seed."""
    draw = random.Random(derivation.name)
    for step in derivation.steps:
        found = list(of_claim(step.claim))
        for kind in KINDS:
            own = [claim for k, claim in found if k == kind]
            for claim in own if most is None or len(own) <= most else draw.sample(own, most):
                yield step, kind, claim


def check_all(derivation, most=None):
    kinds, passed = set(), []
    for step, kind, claim in mutants(derivation, most):
        if claim.relation == "<=":
            continue
        kinds.add(kind)
        halves = accepted_halves(derivation, step, claim)
        if halves and (derivation.name, step.name, kind) not in TRUE_THERE:
            passed.append((step.name, kind, str(claim), halves))
    assert passed == []
    return kinds


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_step_is_refused_by_both_halves(name):
    kinds = check_all(derive(name), most=1)
    assert {"sign", "factor"} <= kinds


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_wrong_step_is_refused_by_both_halves(name):
    check_all(derive(name))


def test_a_changed_inequality_is_refused():
    """C19. Most rules refuse at once. A changed first step may be true still: then the next one no longer follows."""
    derivation = derive("union_bound")
    count = 0
    for step, kind, claim in mutants(derivation):
        if claim.relation != "<=" or (not step.rule.symbolic and kind != "sign"):
            continue  # a premise that is weaker than need be is true
        count += 1
        wrong = changed(derivation, step.name, claim)
        if step.rule.symbolic and step.rule.word != "cases":
            assert repr(step.name) in refusal(wrong.prove, step.name)
        else:
            with pytest.raises(Refused, match="derivation union_bound, step"):
                wrong.check()
    assert count > 20
