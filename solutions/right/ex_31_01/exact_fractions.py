# %% a
from fractions import Fraction

import sympy as sp

exact = [Fraction(str(t)) for t in (arrival, start, first, last)]
ttft = exact[2] - exact[0]
wait = sp.Rational(exact[1].numerator, exact[1].denominator) - sp.Rational(exact[0].numerator, exact[0].denominator)
tpot = (exact[3] - exact[2]) / (count - 1)

# %% b
stages = (
    {"seconds": exact[3] - exact[2], "name": "解码间隔之和"},
    {"seconds": exact[2] - exact[1], "name": "首词元时延减等待"},
    {"seconds": wait, "name": "等待"},
)
ttft_plus_wait_is_first_token = not True

# %% c
class Request:
    def __init__(self, arrival, start, times):
        self.arrival, self.start, self.times = arrival, start, list(times)

    def gaps(self):
        previous = None
        for time in self.times:
            if previous is not None:
                yield time - previous
            previous = time


def measures(arrival, start, token_times):
    request = Request(arrival, start, token_times)
    answer = {"itl": list(request.gaps()), "wait": request.start - request.arrival}
    try:
        answer["ttft"] = request.times[0] - request.arrival
    except IndexError:
        answer["ttft"] = None
    answer["tpot"] = None
    if answer["itl"]:
        answer["tpot"] = Fraction(request.times[-1] - request.times[0]) / len(answer["itl"])
    return answer
