"""Join a scenario to the real model: `scenario, executor = torch_executor("x1_static")`, then `run(scenario,
executor=executor)`.

Three things of a scenario depend on the model: how many tokens a prompt of text has, the bytes of one position
(N09), and how many pages there is room for (N10). They are filled in here, so that the journal's first line holds a
scenario that says what ran.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from labkit.core.errors import InputError, quoted
from labkit.scenario import build
from labkit.scenario.load import MOST_PROBLEMS, Scenario, load
from labkit.scenario.prompts import asks

if TYPE_CHECKING:
    from labkit.executors.model.load import Loaded
    from labkit.executors.model.memory import Largest
    from labkit.executors.torch_model import Ask, TorchExecutor

DTYPES = ("float64", "float32", "bfloat16")


def torch_executor(
    scenario: Scenario | str | os.PathLike[str] | bytes | Mapping[str, Any],
    *,
    model: str = "tiny",
    device: str = "auto",
    dtype: str = "float32",
) -> tuple[Scenario, TorchExecutor]:
    """The scenario as this model runs it, and the executor that does; each executor is good for one run.

    `model`: tiny, smollm2 or a folder; `device`: auto, cpu or cuda; `dtype`: float64, float32 or bfloat16.

    Raises:
        InputError: the scenario, the model or the two together cannot be run.
    """
    loaded = open_model(model, device, dtype)
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    return Joined(scenario, loaded).executor()


def open_model(model: str, device: str, dtype: str) -> Loaded:
    """Load a model. Raises InputError, also where torch is not installed."""
    if dtype not in DTYPES:
        raise InputError(f"labkit: given dtype {dtype!r}, expected one of {', '.join(DTYPES)}")
    try:
        from labkit.executors.torch_model import opened
    except ModuleNotFoundError as missing:
        raise InputError(
            f"labkit: the real model needs the package {missing.name}, which is not installed for {sys.executable}: "
            "`python3 -m labkit lab --model` in the repository installs it into .venv"
        ) from None
    return opened(model, device, dtype)


class Joined:
    """A scenario checked against a model, before memory is taken for its pages.

    Raises:
        InputError: a line for each prompt, length or policy that this model cannot take.
    """

    def __init__(self, scenario: Scenario, loaded: Loaded) -> None:
        self.loaded = loaded
        problems = list(_policy(scenario))
        try:
            self.asks: dict[str, Ask] = asks(scenario, loaded)
        except InputError as error:
            problems += error.problems
        if problems:
            raise InputError(problems)
        raw = dict(scenario.raw)
        if "requests" in raw:
            raw["requests"] = [self._counted(request) for request in raw["requests"]]
        self.scenario = dataclasses.replace(scenario, raw=raw)
        self.largest, self.most_pages = self._sizes()

    def _counted(self, request: dict[str, Any]) -> dict[str, Any]:
        """The request with the number of its prompt's tokens, which text alone does not say."""
        prompt = self.asks[request["id"]].prompt
        return request if prompt is None else {**request, "prompt_tokens": len(prompt)}

    def _sizes(self) -> tuple[Largest, int]:
        """The largest rounds of this load, and the most pages that it could ever use.

        Without prefix sharing no more than every seat at its longest is of use; with it, ended requests leave pages.
        Raises InputError with a line for each request beyond the context.
        """
        from labkit.executors.model.memory import Largest

        limit, name = self.loaded.config.max_positions, self.loaded.about["name"]
        raw = self.scenario.raw
        size = raw["budget"]["page_tokens"]
        count, longest, pages = 0, 1, 0
        problems: list[str] = []
        source = self.scenario.source()
        while source.peek() is not None:
            request = source.take().request
            prompt, bound = request.prompt_tokens, request.max_output_tokens
            if prompt + bound > limit and len(problems) < MOST_PROBLEMS:
                problems.append(
                    f"{self.scenario.label}: request {quoted(request.id)}: given {prompt} + {bound} positions (prompt "
                    f"and max_output_tokens), expected at most {limit}: the context length of the model {name}"
                )
            count, longest, pages = count + 1, max(longest, prompt + bound), pages - (prompt + bound) // -size
            source.notify_end(request.id, request.arrival_ns)
        if problems:
            raise InputError(problems)
        changes = [change["seats"] for change in raw["capacity_changes"]]
        seats = min(max([raw["budget"]["seats"], *changes]), max(1, count))
        tokens = min(raw["budget"]["tokens"], seats * longest)
        chunk = min(raw["policy"]["prefill_chunk"] or longest, longest, tokens)
        if not raw["policy"]["prefix_sharing"]:
            pages = min(pages, seats * -(-longest // size))
        return Largest(tokens, min(seats, tokens), chunk, longest), max(1, pages)

    def executor(self, *, cuda_graphs: bool = False) -> tuple[Scenario, TorchExecutor]:
        """Size the pool and take its memory. `cuda_graphs`: see TorchExecutor.

        Raises:
            InputError: the budget names other bytes than the model has, or more than there is room for.
        """
        from labkit.executors.model.memory import room
        from labkit.executors.torch_model import TorchExecutor

        raw, loaded, label = self.scenario.raw, self.loaded, f"{self.scenario.label}: budget"
        given, size = raw["budget"], raw["budget"]["page_tokens"]
        dtype = next(loaded.model.parameters()).dtype
        own = loaded.config.bytes_per_token(dtype)
        model = f"the model {loaded.about['name']} in {str(dtype).removeprefix('torch.')}"
        if "bytes_per_token" in self.scenario.given["budget"] and given["bytes_per_token"] != own:
            raise InputError(
                f"{label}.bytes_per_token: given {given['bytes_per_token']}, expected {own}, the bytes of one position "
                f"of {model} (N09), or nothing"
            )
        least, free = size * own, room(loaded, self.largest, size)
        if given["kv_bytes"] is None:
            pages = min(self.most_pages, free // least)
            kv_bytes = given["workspace_bytes"] + pages * least
        else:
            kv_bytes = given["kv_bytes"]
            pages = (kv_bytes - given["workspace_bytes"]) // least
            least += given["workspace_bytes"]
        if pages < 1 and given["kv_bytes"] is None:
            raise InputError(
                f"{label}.page_tokens: given {size}, which are {least} bytes of {model}, expected a page of at most "
                f"{free} bytes: so much is free beside its weights and its largest round (N10)"
            )
        if pages < 1:
            raise InputError(
                f"{label}.kv_bytes: given {kv_bytes}, expected room for at least one page of {model}: {least}"
            )
        if pages * size * own > free:
            raise InputError(
                f"{label}.kv_bytes: given {kv_bytes}, expected at most {free}: so much is free beside the weights of "
                f"{model} and its largest round (N10)"
            )
        raw = {**raw, "budget": {**given, "bytes_per_token": own, "kv_bytes": kv_bytes}}
        scenario = dataclasses.replace(self.scenario, raw=raw, setup=build.setup(raw))
        executor = TorchExecutor(
            loaded,
            pages=pages,
            page_tokens=size,
            asks=self.asks,
            seed=scenario.seed,
            cuda_graphs=cuda_graphs,
        )
        return scenario, executor


def _policy(scenario: Scenario) -> Iterator[str]:
    """What the real model does not do."""
    if scenario.raw["policy"]["static_finished"] == "compute":
        yield (
            f'{scenario.label}: policy.static_finished: given "compute", expected "stop": '
            "the real model computes no seat that has nothing to say"
        )
