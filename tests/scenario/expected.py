"""What the library's scenarios must give, worked out by hand from the chapter and the cases, never from a run.

Times are milliseconds: ints, or fractions where they are. `pages` is pages_in_use round by round. Unless it says
otherwise a round takes 10 ms, a page has 4 positions, P positions and O output tokens fill P + O − 1 positions at
the end (P + O when prefilled), `reserve` promises P + bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

Ms = int | Fraction


@dataclass(frozen=True)
class Expected:
    """Ends of all requests in order of the file, and whatever else the derivation fixes."""

    why: str
    ends: dict[str, Ms]
    outcomes: dict[str, tuple[str, str | None]] = field(
        default_factory=dict
    )  # where it is not (finished, None)
    mean: Fraction | None = None
    rounds: list[Ms] | None = None  # how long each took
    pages: list[int] | None = None
    reserved: list[int] | None = None
    tokens: dict[str, list[Ms]] = field(default_factory=dict)
    computed: dict[str, int] = field(default_factory=dict)
    cached: dict[str, int] = field(default_factory=dict)
    recomputed: dict[str, int] = field(default_factory=dict)
    preemptions: dict[str, int] = field(default_factory=dict)
    gap: dict[str, Ms] = field(default_factory=dict)  # longest gap between two tokens
    ratio: Fraction | None = None


EXPECTED: dict[str, Expected] = {
    # ------------------------------------------------------------------------------------------ X1 and Q31.2
    "x1_static": Expected(
        "A and B form the batch. B has one token: 10. A has four: 40. Only then C: 50. (40 + 10 + 50)/3.",
        {"A": 40, "B": 10, "C": 50},
        mean=Fraction(100, 3),
        rounds=[10] * 5,
    ),
    "x1_continuous": Expected(
        "C takes B's seat in the second round: 20. A is as before. (40 + 10 + 20)/3.",
        {"A": 40, "B": 10, "C": 20},
        mean=Fraction(70, 3),
        rounds=[10] * 4,
    ),
    "x1_static_padded": Expected(
        "A round is 10 ms for one seat and for two, so computing the ended B along changes no time (C07).",
        {"A": 40, "B": 10, "C": 50},
        mean=Fraction(100, 3),
        rounds=[10] * 5,
    ),
    "x1_bca_static": Expected(
        "B and C end together after one round; A's four follow: 10 + 40. X1 rests on the order A, B, C (C08).",
        {"B": 10, "C": 10, "A": 50},
        mean=Fraction(70, 3),
        rounds=[10] * 5,
    ),
    "x1_bca_continuous": Expected(
        "Both seats come free at 10 and A takes one: nothing is left to gain from filling seats.",
        {"B": 10, "C": 10, "A": 50},
        mean=Fraction(70, 3),
        rounds=[10] * 5,
    ),
    "q31_2_static": Expected(
        "One round of two, 10; A alone three times 6: 28; C alone 6: 34. (28 + 10 + 34)/3.",
        {"A": 28, "B": 10, "C": 34},
        mean=Fraction(24),
        rounds=[10, 6, 6, 6, 6],
    ),
    "q31_2_continuous": Expected(
        "Two rounds of two: B 10, C 20; A alone twice 6: 32, later than under static. (32 + 10 + 20)/3.",
        {"A": 32, "B": 10, "C": 20},
        mean=Fraction(62, 3),
        rounds=[10, 10, 6, 6],
    ),
    "q31_2_static_compute": Expected(
        "The kernel computes ended B until A is done: four rounds of 10. C is alone in its batch: 46.",
        {"A": 40, "B": 10, "C": 46},
        mean=Fraction(32),
        rounds=[10, 10, 10, 10, 6],
    ),
    "q31_2_static_two_seats": Expected(
        "Every round is padded to two seats, C's too: 50.",
        {"A": 40, "B": 10, "C": 50},
        mean=Fraction(100, 3),
        rounds=[10] * 5,
    ),
    # ------------------------------------------------------------------------------------------ X2 and Q31.5
    "x2_pair": Expected(
        "Pages of 16 positions. One decode each: 258 and 256 positions, 17 + 16 = 33. Two: 259 and 257, 17 + 17.",
        {"long": 20, "short": 20},
        pages=[33, 34],
        reserved=[33, 34],
    ),
    "x2_chunk": Expected(
        "The pair decodes, 33 pages, beside 256 new positions, 16 pages: 49, and the round can run.",
        {"long": 10, "short": 10, "new": 10},
        pages=[49],
    ),
    "x2_reserve": Expected(
        "256 + 768 = 1024 positions are 64 pages; 33 are promised, 97 > 64: it waits until the pair has ended.",
        {"long": 10, "short": 10, "new": 20},
        pages=[33, 16],
        reserved=[33, 64],
    ),
    # ------------------------------------------------------------------------------------------ classic failures
    "case01_too_big_in_front": Expected(
        "20 + 4 positions are 6 pages of a pool of 4. The other takes a prefill and three decodes.",
        {"big": 0, "small": 40},
        {"big": ("rejected", "capacity")},
    ),
    "case02_prompt_over_budget": Expected(
        "100 positions in one round of at most 64: never. The short one takes two rounds.",
        {"long": 0, "short": 20},
        {"long": ("rejected", "capacity")},
    ),
    "case02_chunked": Expected(
        "Chunks of 32, 32, 32 and 4; the fourth round yields the first token, 40; one decode more, 50.",
        {"long": 50, "short": 20},
        tokens={"long": [40, 50], "short": [10, 20]},
        computed={"long": 101, "short": 9},
    ),
    "case03_half_prompts": Expected(
        "After two rounds each has 16 positions, 4 pages: 8 of 8. X needs two more, Y gives way with 4. X ends 30. "
        "Y starts again at 30: three chunks, 60. 16 positions twice; (24 + 24) once: 16/48.",
        {"X": 30, "Y": 60},
        pages=[4, 8, 6, 2, 4, 6],
        computed={"X": 24, "Y": 40},
        recomputed={"X": 0, "Y": 16},
        preemptions={"X": 0, "Y": 1},
        ratio=Fraction(1, 3),
    ),
    "case03_no_preemption": Expected(
        "At 20 neither can go on and nobody may be preempted: the lower-ranked Y ends, X has its pages.",
        {"X": 30, "Y": 20},
        {"Y": ("failed", "capacity")},
        pages=[4, 8, 6],
    ),
    "case04_reserve": Expected(
        "4 + 60 positions are all 16 pages. The long one ends after 8 tokens, 80; the others run 80 to 120.",
        {"long": 80, "s1": 120, "s2": 120, "s3": 120},
        reserved=[16] * 8 + [6] * 4,
    ),
    "case04_grow": Expected(
        "All four run: 4 to 7 positions each, 4 then 8 pages. Three end at 40; the long one at 11 positions, 80.",
        {"long": 80, "s1": 40, "s2": 40, "s3": 40},
        pages=[4, 8, 8, 8, 2, 3, 3, 3],
    ),
    "case05_swap_full": Expected(
        "Three prompts of 2 pages fill 6. At 10 A and B each need a third: C goes to the host, which is full then "
        "(+1 ms: 21). At 51 A needs a fourth: B gives way, no room on the host, its 12 positions are dropped. A "
        "ends at 61. C comes back (+1 ms) and decodes on 3 pages. B comes back when all its 13 positions fit: 4 pages, "
        "3 are free, so D passes it: 72, C and D end, D after C as it must. B computes 13 at once: 82.",
        {"A": 61, "B": 82, "C": 72, "D": 72},
        rounds=[10, 11, 10, 10, 10, 10, 11, 10],
        pages=[6, 6, 6, 6, 6, 4, 4, 4],
        computed={"A": 13, "B": 25, "C": 9, "D": 4},
        recomputed={"A": 0, "B": 12, "C": 0, "D": 0},
        preemptions={"A": 0, "B": 1, "C": 1, "D": 0},
        ratio=Fraction(12, 39),
    ),
    "case06_whole_prompt_cached": Expected(
        "At most floor(7/4) = 1 page may be a hit, so B computes 4 of its 8 positions, and one decode.",
        {"A": 20, "B": 50},
        computed={"A": 9, "B": 5},
        cached={"A": 0, "B": 4},
        tokens={"A": [10, 20], "B": [40, 50]},
    ),
    "case07_same_round": Expected(
        "A and B compute 16 each: 8 pages. C comes when they are committed: floor(15/4) = 3 pages are hits.",
        {"A": 10, "B": 10, "C": 20},
        pages=[8, 4],
        computed={"A": 16, "B": 16, "C": 4},
        cached={"A": 0, "B": 0, "C": 12},
    ),
    "case08_recompute_is_no_hit": Expected(
        "As case 3, but Y's 4 pages stay cached when it gives way. X takes the two tails. At 30 Y finds its first "
        "two, 8 positions: no hit, for it was admitted before; it computes 8 again and 8 for the first time: 50.",
        {"X": 30, "Y": 50},
        pages=[4, 8, 6, 4, 6],
        computed={"X": 24, "Y": 32},
        cached={"X": 0, "Y": 0},
        recomputed={"X": 0, "Y": 8},
        ratio=Fraction(1, 6),
    ),
    "case09_two_tenants": Expected(
        "B's tenant has nothing cached: 8 positions. C's has one page: 4 hits, 4 computed.",
        {"A": 10, "B": 30, "C": 50},
        computed={"A": 8, "B": 8, "C": 4},
        cached={"A": 0, "B": 0, "C": 4},
    ),
    "case10_cancel_in_last_round": Expected(
        "Cancelled at 15, ends with the round, 20; its second token is dropped. B needs all 3 pages: 20 to 30.",
        {"A": 20, "B": 30},
        {"A": ("cancelled", None)},
        tokens={"A": [10], "B": [30]},
    ),
    "case10_cancel_at_round_end": Expected(
        "Cancelled at 20 itself: cancellations come first, so the token of that instant is dropped too.",
        {"A": 20, "B": 30},
        {"A": ("cancelled", None)},
        tokens={"A": [10], "B": [30]},
    ),
    "case11_cancel_after_last_chunk": Expected(
        "The second chunk of 8 runs from 10 to 20 and would yield the first token; cancelled at 15. B goes on.",
        {"A": 20, "B": 30},
        {"A": ("cancelled", None)},
        tokens={"A": [], "B": [10, 20, 30]},
        computed={"A": 16, "B": 6},
    ),
    "case10_overlap_cancel": Expected(
        "Rounds 0 and 1 are launched at 0, round 2 with A's second decode at 10. Cancelled at 15, A ends with round 1, "
        "20, its second token dropped; round 2 runs for nothing to 30 and may write A's 3 pages till then. B: to 40.",
        {"A": 20, "B": 40},
        {"A": ("cancelled", None)},
        rounds=[10] * 4,
        tokens={"A": [10], "B": [40]},
        computed={"A": 9, "B": 8},
    ),
    "case11_overlap_cancel": Expected(
        "Round 1, launched at 0, holds A's second chunk. Cancelled at 5, A ends with round 0, 10; of round 1 nothing "
        "is delivered to it. B has its three tokens as if it were alone.",
        {"A": 10, "B": 30},
        {"A": ("cancelled", None)},
        tokens={"A": [], "B": [10, 20, 30]},
        computed={"A": 8, "B": 6},
    ),
    "case12_pages_held_back": Expected(
        "A's first token is its last: it ends at 10. Round 1, fixed at 0, computes a decode of it to 20. B needs all 3 "
        "pages and has them at 20, ends 30. Round 0 was planned with 2 pages in use, round 1 with 3.",
        {"A": 10, "B": 30},
        rounds=[10] * 3,
        pages=[2, 3, 2],
        tokens={"A": [10], "B": [30]},
        computed={"A": 8, "B": 8},
    ),
    "case13_swap_never_completes": Expected(
        "At 10 A needs a fifth page of 4: B's two go out, in a round of 1 ms that moves them and no more. Due at 11, "
        "never there: held to 11 + 50 = 61. B is cancelled at 15. A's second and third token: 71, 81.",
        {"A": 81, "B": 15},
        {"B": ("cancelled", None)},
        rounds=[10, 1, 10, 10],
        pages=[4, 2, 3, 3],
        tokens={"A": [10, 71, 81], "B": [10]},
        preemptions={"A": 0, "B": 1},
    ),
    "case13_late_signal": Expected(
        "As above: the lease is over at 61; the signal comes at 11 + 60 = 71 and finds nothing to do.",
        {"A": 81, "B": 15},
        {"B": ("cancelled", None)},
        rounds=[10, 1, 10, 10],
        tokens={"A": [10, 71, 81], "B": [10]},
    ),
    "case13_swap_lost": Expected(
        "At 61 B's copy is given up. It needs 3 pages for its 9 positions and A has 3 of 4: at 81 it computes 8 again "
        "and one more, which yields its second token, 91.",
        {"A": 81, "B": 91},
        rounds=[10, 1, 10, 10, 10],
        tokens={"A": [10, 71, 81], "B": [10, 91]},
        computed={"A": 10, "B": 17},
        recomputed={"A": 0, "B": 8},
        preemptions={"A": 0, "B": 1},
    ),
    "case14_cancel_waiting": Expected(
        "B waits for the one seat and ends at its own time, 15; A and C run as if it had never been.",
        {"A": 30, "B": 15, "C": 40},
        {"B": ("cancelled", None)},
        tokens={"A": [10, 20, 30], "B": [], "C": [40]},
    ),
    "case16_no_ping_pong": Expected(
        "4 pages. Z holds 2 to 40; B needs 3 and waits; A, later, needs 2 and passes it: 10 to 50. B outranks A "
        "but is not of greater priority, so nobody is preempted. B runs from 50: 90.",
        {"Z": 40, "B": 90, "A": 50},
        preemptions={"Z": 0, "B": 0, "A": 0},
    ),
    "case17_priority": Expected(
        "H comes at 15 and takes the seat at the boundary, 20 to 30. A has 2 tokens and 5 positions; it computes "
        "those 5 and its 6th in one round, 40, and the last, 50. E last.",
        {"A": 50, "H": 30, "E": 60},
        tokens={"A": [10, 20, 40, 50]},
        computed={"A": 12, "H": 4, "E": 4},
        recomputed={"A": 5, "H": 0, "E": 0},
        preemptions={"A": 1, "H": 0, "E": 0},
    ),
    "case17_equal": Expected(
        "Nobody is greater than A: it ends at 40, H and E follow in order.",
        {"A": 40, "H": 50, "E": 60},
        preemptions={"A": 0, "H": 0, "E": 0},
    ),
    "case18_prompt_first": Expected(
        "Prompts of 16 take all of B = 16 at 10, 20 and 30; the second token comes at 50: a gap of four rounds.",
        {"long": 80, "s1": 20, "s2": 30, "s3": 40},
        tokens={"long": [10, 50, 60, 70, 80]},
        gap={"long": 40},
    ),
    "case18_decode_share": Expected(
        "One token a round is the decode's. s1 gets 15 + 1, s2 14 + 2, s3 13 + 3: each one round later.",
        {"long": 50, "s1": 30, "s2": 40, "s3": 50},
        tokens={"long": [10, 20, 30, 40, 50]},
        gap={"long": 10},
    ),
    "case19_t4096": Expected(
        "1 ms and 0.01 ms a token. Rounds of 16, 4096 (1 + 4095), 2 and seventeen of 1 token: 1.16, 41.96, 1.02, "
        "17 · 1.01. The gap is the round of T tokens.",
        {"decoding": Fraction(6131, 100), "prompt": Fraction(4414, 100)},
        rounds=[Fraction(116, 100), Fraction(4196, 100), Fraction(102, 100), *[Fraction(101, 100)] * 17],
        gap={"decoding": Fraction(4196, 100)},
    ),
    "case19_t256": Expected(
        "Sixteen rounds of 256 (1 + 255), one of 17 (1 + 16), two of 1: 1.16 + 16 · 3.56 + 1.17 + 2 · 1.01. As "
        "many rounds and tokens as with T = 4096, so the same end; the gap is 3.56.",
        {"decoding": Fraction(6131, 100), "prompt": Fraction(5929, 100)},
        rounds=[
            Fraction(116, 100),
            *[Fraction(356, 100)] * 16,
            Fraction(117, 100),
            *[Fraction(101, 100)] * 2,
        ],
        gap={"decoding": Fraction(356, 100)},
    ),
    "case20_slow_reader": Expected(
        "Four tokens by 40 fill the buffer; reads at 110, 210, … A slot is free at 110: token 5 at 120; at 210: "
        "token 6 at 220. The last read is the sixth: 610. The fast one's gaps are 10.",
        {"slow": 610, "fast": 120},
        tokens={"slow": [10, 20, 30, 40, 120, 220], "fast": [10 * n for n in range(1, 13)]},
        gap={"slow": 100, "fast": 10},
    ),
    "case20_impatient": Expected(
        "Full at 40, patience until 90; nothing was read by then.",
        {"slow": 90, "fast": 120},
        {"slow": ("cancelled", "slow_reader")},
        tokens={"slow": [10, 20, 30, 40], "fast": [10 * n for n in range(1, 13)]},
        gap={"slow": 10, "fast": 10},
    ),
    "case22_one_token": Expected(
        "One token at 10; TPOT and gaps are undefined (C02).",
        {"A": 10},
        tokens={"A": [10]},
    ),
    # ------------------------------------------------------------------------------- loads: C22, C30, case 24
    "case24_connections": Expected(
        "One at a time, 500 ms each, whatever the server has room for: 500, 1000, … 4000.",
        {f"r{i}": 500 * (i + 1) for i in range(8)},
        rounds=[500] * 8,
    ),
    "c22_burst": Expected(
        "Ten arrive 10 ms apart, twenty 5 ms apart; the server is never idle and ends one every 10 ms.",
        {f"r{i}": 10 * (i + 1) for i in range(30)},
    ),
    "c22_late_capacity": Expected(
        "One a round until the seat ordered at 10 serves at 40, then two a round: four by 40, the other eight by 80.",
        {f"r{i}": 10 * (i + 1) if i < 4 else 50 + 10 * ((i - 4) // 2) for i in range(12)},
        rounds=[10] * 8,
    ),
    **{
        f"c30_stall_{name}": Expected(
            "r10, sent at 500, is the first to wait. At 1000 the server goes on, 10 ms each; r22, sent at 1100, ends "
            "at 1130; r23 finds it idle. A client of one connection sends later and is answered at the same times.",
            {f"r{i}": 1010 + 10 * (i - 10) if 10 <= i <= 22 else 50 * i + 10 for i in range(40)},
        )
        for name in ("open", "connection")
    },
    "c30_stall_closed": Expected(
        "u0 asks every 50 ms; its tenth question, at 500, is answered at 1010, the next follows at 1050.",
        {f"u0-{k}": 50 * k + 10 if k < 10 else 1010 + 50 * (k - 10) for k in range(30)},
    ),
}
