"""C12 with decode rounds padded to fixed shapes: what a GPU captures and replays runs here eagerly."""

from __future__ import annotations

import pytest

from labkit.scenario import load, run
from labkit.scenario.real import Joined
from tests.executors.plain_decoder import PlainDecoder, small
from tests.executors.torch_runs import EvenRounds, bytes_of, events, outputs, pool, scenario

LOADED = small()
PROMPTS = {"A": list(range(3, 40)), "B": [90, 4, 4, 7, 61], "C": [5] * 18, "D": list(range(80, 59, -1))}
COUNTS = {"A": 9, "B": 14, "C": 6, "D": 11}
PLAIN = PlainDecoder(LOADED)
WANTED = {name: PLAIN.greedy(prompt, COUNTS[name]) for name, prompt in PROMPTS.items()}
REQUESTS = [
    {"id": name, "arrival": 0, "prompt": prompt, "output_tokens": COUNTS[name]}
    for name, prompt in PROMPTS.items()
]


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("budget", "policy"),
    [
        ({"tokens": 96}, {}),
        ({"tokens": 20}, {"prefill_chunk": 7}),
        (pool(LOADED, 17), {"admission": "grow", "preemption": "recompute", "prefill_chunk": 5}),
        (
            pool(LOADED, 17),
            {
                "admission": "grow",
                "preemption": "swap",
                "prefill_chunk": 5,
                "host_bytes": bytes_of(LOADED, 64),
            },
        ),
    ],
    ids=["whole prompts", "chunks", "recompute", "swap"],
)
def test_padded_decode_rounds_give_the_same_tokens(budget, policy, depth):
    """C12, float64: equal to one forward a token without a cache, and both kinds of rounds took part."""
    document = scenario(REQUESTS, budget, **policy, pipeline_depth=depth)
    joined, executor = Joined(load(document), LOADED).executor(cuda_graphs=True)
    ran = {"padded": 0, "packed": 0}
    padded, packed = executor.graphs.run, LOADED.model.forward

    def count_padded(batch, count):
        ran["padded"] += 1
        ran["packed"] -= 1  # it runs the same forward
        return padded(batch, count)

    def count_packed(batch, cache):
        ran["packed"] += 1
        return packed(batch, cache)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor.graphs, "run", count_padded)
        patch.setattr(LOADED.model, "forward", count_packed)
        done = run(joined, executor=EvenRounds(executor))
    assert outputs(done) == WANTED
    rounds = [event["items"] for event in events(done, "plan") if event["items"]]
    decodes = sum(all(kind == "decode" for *_, kind in items) for items in rounds)
    single = sum(all(new == 1 for _, new, _, _ in items) for items in rounds)
    # The last token of a prompt may come alone: by its shape that is a decode too.
    assert 0 < decodes <= ran["padded"] <= single
    assert 0 < ran["packed"] == len(rounds) - ran["padded"]
