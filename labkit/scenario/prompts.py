"""What the requests of a scenario ask of the real model: prompts as token ids, and how to sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from labkit.core.errors import InputError, escaped, quoted
from labkit.executors.drawn import drawn_prompt, drawn_seed
from labkit.scenario.load import MOST_PROBLEMS, Scenario

if TYPE_CHECKING:
    from labkit.executors.model.load import Loaded
    from labkit.executors.torch_model import Ask

Fields = dict[str, Any]


def asks(scenario: Scenario, loaded: Loaded) -> dict[str, Ask]:
    """By id, what each listed request asks of the model; loads of other kinds list none.

    Raises:
        InputError: a line for each prompt that this model cannot take, and for runs of one name that differ.
    """
    from labkit.executors.model.sampling import Sampling
    from labkit.executors.torch_model import Ask

    found: dict[str, Ask] = {}
    problems: list[str] = []
    requests = scenario.raw.get("requests") or ()
    runs = _Runs()
    spelt = {name for request in requests if request["prompt"] is not None for name, _ in request["prefix"]}
    for index, request in enumerate(requests):
        where = f"{scenario.label}: requests[{index}]"
        try:
            ids = None if request["prompt"] is None else _ids(request, loaded)
            if not spelt.isdisjoint(name for name, _ in request["prefix"]):
                runs.check(request, ids or _drawn(request, scenario.seed, loaded), index)
        except InputError as error:
            problems += [f"{where}.{line}" for line in error.problems]
            continue
        given = dict(request["sampling"] or {})
        stop = tuple(given.pop("stop", ()))
        problems += [
            f"{where}.sampling.stop: given {token}, expected ids under {loaded.config.vocab}, the model's vocabulary"
            for token in stop
            if token >= loaded.config.vocab
        ]
        seed = given.pop("seed", None)
        sampling = Sampling(
            temperature=float(given.get("temperature", 0)),
            top_k=given.get("top_k"),
            top_p=float(given.get("top_p", 1)),
            seed=drawn_seed(scenario.seed, request["id"]) if seed is None else seed,
            stop=stop,
        )
        length = request.get("output_tokens")
        found[request["id"]] = Ask(
            ids, sampling, None if length is None else min(length, request["max_output_tokens"])
        )
    if problems:
        raise InputError(problems[:MOST_PROBLEMS])
    return found


def _drawn(request: Fields, seed: int, loaded: Loaded) -> list[int]:
    """What the executor will draw for a request without a prompt."""
    count = request["prompt_tokens"]
    return drawn_prompt(seed, request["id"], request["prefix"], count, loaded.config.vocab)


def _ids(request: Fields, loaded: Loaded) -> list[int]:
    """The prompt's token ids; they agree with `prompt_tokens` where that is given."""
    prompt, count, vocab = request["prompt"], request.get("prompt_tokens"), loaded.config.vocab
    if isinstance(prompt, str):
        if loaded.tokenizer is None:
            raise InputError(
                f"prompt: given text, expected token ids: the model {loaded.about['name']} has no tokenizer"
            )
        try:
            ids = [int(token) for token in loaded.tokenizer.encode(prompt).ids]
        except Exception as error:  # noqa: BLE001 - `tokenizers` raises nothing more special
            raise InputError(
                f"prompt: given text that the tokenizer of {loaded.about['name']} cannot take "
                f"({escaped(str(error))}), expected other text or token ids"
            ) from None
        if count is not None and count != len(ids):
            raise InputError(f"prompt_tokens: given {count}, expected {len(ids)}: so many has the prompt")
    else:
        ids = prompt
    unknown = [token for token in ids if token >= vocab]
    if unknown:
        raise InputError(
            f"prompt: given the id {unknown[0]}, expected ids under {vocab}, the model's vocabulary"
        )
    if not ids and not request["prefilled"]:
        raise InputError("prompt: given a prompt without a token, expected at least one, or prefilled true")
    named = sum(length for _, length in request["prefix"])
    if named > len(ids):
        raise InputError(
            f"prefix: given {named} positions, expected at most {len(ids)}: so many has the prompt"
        )
    return ids


class _Runs:
    """Prefix runs of one name must be the same tokens: pages are shared by name (C06)."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[int], int]] = {}

    def check(self, request: Fields, ids: list[int], index: int) -> None:
        """Raise InputError where a run of this request differs from one of its name in an earlier request."""
        for name, tokens in _cut(request["prefix"], ids):
            known, where = self._known.setdefault(name, (tokens, index))
            for position, (token, other) in enumerate(zip(tokens, known, strict=False)):
                if token != other:
                    raise InputError(
                        f"prefix: given the run {quoted(name)} with the token {token} at {position}, "
                        f"expected {other} as in requests[{where}]: equal names are equal tokens"
                    )
            if len(tokens) > len(known):
                self._known[name] = tokens, index


def _cut(prefix: list[list[Any]], ids: list[int]) -> Iterator[tuple[str, list[int]]]:
    start = 0
    for name, length in prefix:
        yield name, ids[start : start + length]
        start += length
