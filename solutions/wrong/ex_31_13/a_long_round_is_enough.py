# expects: diagnose nobody-blocked

# %% b-diagnose
from statistics import median


def diagnose(events):
    end = events[-1][0]
    instants = sorted({e[0] for e in events})
    ages = signals(events, instants)["queue_age"]
    late = [age for t, age in zip(instants, ages) if t >= end / 2]
    rounds = [e for e in events if e[1] == "round"]
    usual = median(e[0] - e[2] for e in rounds)
    beside = [e[0] - e[2] for e in rounds if {i[2] for i in e[3]} == {"prefill", "decode"}]
    four = signals(events, [])
    overloaded = min(late) > 0 and late[-1] > end / 6
    blocked = four["chunk_time"] > 4 * usual
    backlogged = four["output_buffer"] >= 5
    causes = [name for name, found in zip(levers, (overloaded, blocked, backlogged)) if found]
    new = {phase: sum(i[1] for e in rounds for i in e[3] if i[2] == phase) for phase in ("prefill", "decode")}
    return {
        "causes": causes,
        "stage": ("预填充" if new["prefill"] > new["decode"] else "解码") if overloaded else None,
        "levers": sum((levers[cause] for cause in causes), []),
        "interim": ["按队列预算和期限排队或拒绝", "上线后核对积压消退"] if overloaded else [],
    }
