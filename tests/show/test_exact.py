from fractions import Fraction

import pytest

from labkit.show.exact import ends_ms, in_ms, mean, ms, number, seat_rounds


def test_nanoseconds_survive_the_double():
    for ns in (0, 1, 999_999_999, 40_000_000, 123_456_789_012_345, 4_319_999_999_999_999):
        assert ms(ns / 1e9) == Fraction(ns, 10**6)


def test_means_of_the_book_are_exact(x1, q31_2):
    assert mean(ends_ms(x1["静态"]).values()) == Fraction(100, 3)
    assert mean(ends_ms(x1["连续"]).values()) == Fraction(70, 3)
    assert mean(ends_ms(q31_2["静态"]).values()) == 24
    assert mean(ends_ms(q31_2["连续"]).values()) == Fraction(62, 3)


def test_an_unfinished_request_has_no_end(result):
    assert ends_ms(result([(10, "AB"), (10, "A")], {"A": None, "B": 10})) == {"B": 10}


def test_the_mean_of_nothing_is_undefined():
    assert mean([]) is None
    assert in_ms(None) == "–"


def test_seat_rounds(x1):
    assert seat_rounds(x1["静态"], 2) == (6, 10)
    assert seat_rounds(x1["连续"], 2) == (6, 8)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Fraction(40), "40"),
        (Fraction(100, 3), "100/3 ≈ 33.33"),
        (Fraction(75, 2), "37.5"),
        (Fraction(123456, 1000), "123.46"),
        (Fraction(-10, 3), "-10/3 ≈ -3.33"),
        (Fraction(0), "0"),
    ],
)
def test_numbers_for_people(value, words):
    assert number(value) == words
