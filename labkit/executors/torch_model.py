"""The real model as executor: each round is one packed forward over the paged cache, and lasts as long as it lasts.

The engine's clock goes on by the measured duration of each round, on the host's monotonic clock: from its launch, or
from the end of the round before it if that is later, until its sampled ids are there. Time in which nothing runs is
skipped, not slept. A `prefilled` request's prompt is computed at its admission and not timed.

Nothing waits for the device between launch and collect: a decode whose predecessor is still in flight takes its input
token from the device (pipeline depth 2), and sampled ids come back by a copy of their own.
"""

from __future__ import annotations

import platform
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from labkit.core.errors import InputError, quoted
from labkit.core.plan import Plan, PlanItem
from labkit.core.types import Job
from labkit.executors.drawn import drawn_ids, drawn_prompt, drawn_seed
from labkit.executors.model.decode_graphs import DecodeGraphs
from labkit.executors.model.load import Loaded, load
from labkit.executors.model.paged import Item, PagedCache, pack
from labkit.executors.model.sampling import NO_TOKEN, Sampling, sample
from labkit.executors.model.swap import SwapSpace
from labkit.executors.model.text_stream import TextStream
from labkit.executors.model.transfer import sent
from labkit.executors.out_of_memory import OutOfMemory, lacks_memory
from labkit.executors.page_tables import PageTables
from labkit.executors.result import RoundResult, Token

UNTIMED_CHUNK = 512  # positions of a `prefilled` prompt that are computed at once


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request asks of the model. `prompt` None: ids are drawn. `length`: tokens after which it ends, whatever
    they are; None: end of sequence or a stop id ends it.
    """

    prompt: Sequence[int] | None
    sampling: Sampling
    length: int | None


class _Request:
    """A live request: `ids` are its prompt and the tokens that the core has accepted; the first `cached` positions are
    in its pages, those of rounds in flight left out.
    """

    __slots__ = ("ask", "bound", "cached", "ids", "outputs", "prefilled", "text")

    def __init__(self, ask: Ask, prompt: Sequence[int], job: Job, text: TextStream | None) -> None:
        self.ask = ask
        self.ids = list(prompt)
        self.outputs = 0
        self.cached = 0
        self.bound = job.request.max_output_tokens
        self.prefilled = job.request.prefilled
        self.text = text


@dataclass(slots=True)
class _Round:
    """A launched round: its items, the sampled ids of those that yield, on the device and on the host; times in ns."""

    items: tuple[PlanItem, ...]
    sampled: Tensor
    host: Tensor
    started: int
    untimed: int
    ended: int | None  # known at once where launching is running
    event: torch.cuda.Event | None


def opened(model: str, device: str, dtype: str) -> Loaded:
    """Load a model; `dtype` float64, float32 or bfloat16. Raises InputError."""
    return load(model, device, getattr(torch, dtype))


class TorchExecutor:
    """Runs plans on a model with `pages` pages of cache. One executor serves one run.

    `asks`: what the requests of a scenario file ask; a request that is not among them gets a drawn prompt and the
    length in its `Job.oracle`. `seed`: of drawn prompts, and of sampling where a request names none. `cuda_graphs`:
    rounds of decodes alone are padded to fixed shapes, which a GPU replays; capturing a shape is not timed.
    """

    def __init__(
        self,
        loaded: Loaded,
        *,
        pages: int,
        page_tokens: int,
        asks: Mapping[str, Ask] | None = None,
        seed: int = 0,
        cuda_graphs: bool = False,
    ) -> None:
        weight = next(loaded.model.parameters())
        self.loaded = loaded
        self.device, self.dtype = weight.device, weight.dtype
        self.cache = PagedCache(loaded.config, pages, page_tokens, self.device, self.dtype)
        self.graphs = DecodeGraphs(loaded.model, self.cache) if cuda_graphs else None
        self.asks = asks or {}
        self.seed = seed
        self.pages = PageTables()
        self.rounds = 0
        self._requests: dict[str, _Request] = {}
        self._swap = SwapSpace(self.cache, str(loaded.about["revision"]))
        self._to_prefill: list[tuple[str, int]] = []  # and how many of its positions it found in shared pages
        self._running: deque[_Round] = deque()
        self._newest: _Round | None = None  # launched last: its sampled ids may be inputs of the next round
        self._free_from = 0  # when the round collected last had ended
        self._warm_up()

    def _warm_up(self) -> None:
        """The first forward of a process makes threads and loads kernels: no round of the run pays for that."""
        with torch.inference_mode():
            self.loaded.model(pack([Item([0], 0, [0], True)], self.cache), self.cache)
            self.cache.kv[:, 0] = 0
        self._synchronize()

    @property
    def about(self) -> dict[str, object]:
        """What the journal's first line says of the executor."""
        cuda = self.device.type == "cuda"
        return {
            "kind": "torch",
            "device": torch.cuda.get_device_name(self.device) if cuda else f"cpu ({platform.machine()})",
            "dtype": str(self.dtype).removeprefix("torch."),
            "model": {key: self.loaded.about[key] for key in ("name", "parameters", "revision")},
            "tokenizer": self.loaded.tokenizer is not None,
            "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
            "threads": torch.get_num_threads(),
            "pages": self.cache.pages,
            "page_tokens": self.cache.page_tokens,
            "bytes_per_token": self.loaded.config.bytes_per_token(self.dtype),
            "clock": "measured duration of each round, idle time skipped",
        }

    # ------------------------------------------------------------------------------------------- requests

    def submit(self, job: Job) -> None:
        """A request may run from now on. Raises InputError where it would outgrow the model's context."""
        request, limit = job.request, self.loaded.config.max_positions
        if request.prompt_tokens + request.max_output_tokens > limit:
            raise InputError(
                f"labkit run: request {quoted(request.id)}: given {request.prompt_tokens} + "
                f"{request.max_output_tokens} positions, expected at most {limit}: the model's context"
            )
        ask = self.asks.get(request.id)
        if ask is None:
            length = job.oracle if isinstance(job.oracle, int) else None
            ask = Ask(None, Sampling(seed=drawn_seed(self.seed, request.id)), length)
        prompt, vocab = ask.prompt, self.loaded.config.vocab
        if prompt is None:
            prompt = drawn_prompt(self.seed, request.id, request.prefix, request.prompt_tokens, vocab)
        text = None if self.loaded.tokenizer is None else TextStream(self.loaded.tokenizer)
        self._requests[request.id] = _Request(ask, prompt, job, text)

    def forget(self, request_id: str) -> None:
        """The request has ended; what is still computed for it counts for nothing."""
        self._requests.pop(request_id, None)
        self._swap.forget(request_id)
        self.pages.forget(request_id)
        self._to_prefill = [entry for entry in self._to_prefill if entry[0] != request_id]

    def follow(self, record: dict[str, Any]) -> None:
        """Keep the page tables and the tokens that the core has accepted."""
        self.pages.follow(record)
        kind = record["event"]
        if kind == "token":
            request = self._requests[record["id"]]
            request.ids.append(record["token"])
            request.outputs += 1
        elif kind == "admit":
            request = self._requests[record["id"]]
            request.cached = record["context"]
            if request.prefilled and not record["epoch"]:
                self._to_prefill.append((record["id"], len(record["shared"]) * self.cache.page_tokens))

    # ------------------------------------------------------------------------------------------- a round

    def launch(self, plan: Plan) -> None:
        """Start a round: swap copies, untimed prompts, one forward, sampling. On a CPU it has run on return.

        Raises:
            OutOfMemory: the device has no room for it; the cache holds what it held.
        """
        started = time.perf_counter_ns()
        try:
            with torch.inference_mode():
                self._copy()
                untimed = self._prefill()
                self._running.append(self._forward(plan, started, untimed))
        except (RuntimeError, MemoryError) as error:
            if not lacks_memory(error):
                raise
            raise OutOfMemory(plan, self.rounds, str(self.device), str(error)) from None
        self._newest = self._running[-1]
        self.rounds += 1

    def _forward(self, plan: Plan, started: int, untimed: int) -> _Round:
        items, waiting = [], []
        yields: list[PlanItem] = []
        for item in plan.items:
            ids = self._requests[item.id].ids
            tokens = ids[item.context : item.context + item.new_tokens]
            if len(tokens) < item.new_tokens:  # its last token is still being computed
                waiting.append((len(yields), item.id))
                tokens = [*tokens, 0]
            if item.yields:
                yields.append(item)
            items.append(Item(tokens, item.context, self.pages.tables[item.id], item.yields))
        sampled = torch.empty(0, dtype=torch.int64, device=self.device)  # of a round that carries swaps alone
        if items:
            graphs = self.graphs if all(len(item.tokens) == 1 and item.yields for item in items) else None
            batch = pack(items, self.cache) if graphs is None else graphs.pack(items)
            if waiting:
                self._take_from_device(batch.tokens, batch.rows, waiting)
            if graphs is None:
                logits = self.loaded.model(batch, self.cache)
            else:
                logits = graphs.run(batch, len(items))
                untimed, graphs.captured_ns = untimed + graphs.captured_ns, 0
            samplings = [self._requests[item.id].ask.sampling for item in yields]
            sampled = sample(logits, samplings, [item.context + item.new_tokens for item in yields])
        if self.device.type != "cuda":
            return _Round(plan.items, sampled, sampled, started, untimed, time.perf_counter_ns(), None)
        host = torch.empty(sampled.shape, dtype=sampled.dtype, pin_memory=True)
        host.copy_(sampled, non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        return _Round(plan.items, sampled, host, started, untimed, None, event)

    def _take_from_device(self, tokens: Tensor, rows: Tensor, waiting: list[tuple[int, str]]) -> None:
        """Put the ids that the round in flight samples where this round's decodes need them."""
        before = self._newest
        assert before is not None
        yields = [item.id for item in before.items if item.yields]
        row_of = {name: row for row, name in enumerate(yields)}
        here = sent(torch.tensor([row for row, _ in waiting]), self.device)
        there = sent(torch.tensor([row_of[name] for _, name in waiting]), self.device)
        tokens[rows[here]] = before.sampled[there].clamp(min=0)  # NO_TOKEN is told where it is collected

    def collect(self) -> RoundResult:
        """Wait for the sampled ids of the oldest round; stale items (law 5) yield nothing.

        Raises:
            InputError: the model has no finite logits for one of them.
        """
        done = self._running.popleft()
        if done.event is not None:
            done.event.synchronize()
            done.ended = time.perf_counter_ns()
        assert done.ended is not None
        spent = done.ended - max(done.started, self._free_from) - done.untimed
        self._free_from = done.ended
        last, tokens = [], {}
        sampled = iter(done.host.tolist())
        for item in done.items:
            token = next(sampled) if item.yields else None
            request = self._requests.get(item.id)
            if request is None or self.pages.epochs.get(item.id) != item.epoch:
                continue
            request.cached = item.context + item.new_tokens
            if token is None:
                continue
            self._check_token(token, item.id)
            count, ask = request.outputs + 1, request.ask
            ends = token in ask.sampling.stop or token in self.loaded.config.eos_ids
            if count == ask.length if ask.length is not None else ends:
                last.append(item.id)
            text = None
            if request.text is not None:
                text = request.text.push(token)
                if item.id in last or count == request.bound:
                    text += request.text.flush()
            tokens[item.id] = Token(token, text)
        return RoundResult(max(1, spent), frozenset(last), tokens)

    def _check_token(self, token: int, request_id: str) -> None:
        if token == NO_TOKEN:
            dtype = str(self.dtype).removeprefix("torch.")
            raise InputError(
                f"labkit run: request {quoted(request_id)}: given logits of the model {self.loaded.about['name']} that "
                f"are not finite, expected finite ones: its weights are damaged, or too large for {dtype}"
            )

    # ------------------------------------------------------------------------------------------- before a round

    def _copy(self) -> None:
        """Make the swap copies that are owed, in order: what leaves has left before its pages are written again."""
        while self.pages.moves:
            move = self.pages.moves[0]
            positions = self._requests[move.id].cached
            if move.out:
                self._swap.take_out(move.id, move.pages, positions)
            else:
                self._swap.bring_back(move.id, self.pages.tables[move.id], positions)
            self.pages.moves.pop(0)

    def _prefill(self) -> int:
        """Compute the prompts of `prefilled` requests just admitted; return the ns that it took.

        The token that follows the prompt came out where the prompt was computed: it is the first decode's input and
        no output. An empty prompt has no logits to sample it from: it is drawn.
        """
        if not self._to_prefill:
            return 0
        self._synchronize()
        started = time.perf_counter_ns()
        while self._to_prefill:
            name, shared = self._to_prefill[0]
            request, table = self._requests[name], self.pages.tables[name]
            prompt, sampling = request.ids, request.ask.sampling
            following = drawn_ids(self.seed, f"request {name}", 1, self.loaded.config.vocab)
            for start in range(shared, len(prompt), UNTIMED_CHUNK):
                piece = Item(prompt[start : start + UNTIMED_CHUNK], start, table, True)
                logits = self.loaded.model(pack([piece], self.cache), self.cache)
                if start + UNTIMED_CHUNK >= len(prompt):
                    following = sample(logits, [sampling], [len(prompt)]).tolist()
                    self._check_token(following[0], name)
            request.ids = [*prompt, *following]
            self._to_prefill.pop(0)
        self._synchronize()
        return time.perf_counter_ns() - started

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
