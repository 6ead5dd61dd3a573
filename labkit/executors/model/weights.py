"""From a folder's safetensors to the model's parameters: every tensor due, of its shape, and no other.

Only safetensors are read. A pickle (`.bin`, `.pt`) can run code when it is opened, so it never is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from labkit.core.errors import InputError, escaped, quoted
from labkit.executors.model.config import ModelConfig
from labkit.executors.model.files import text_of

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
STORED = {"F16", "BF16", "F32", "F64"}
NAMED = 3  # so many problems of one kind are listed, the rest is counted

Shape = tuple[int, ...]


def weight_files(folder: Path) -> dict[str, Path]:
    """Return which file of the folder holds each tensor; InputError where there are none or the index lies."""
    if (folder / SINGLE).is_file():
        return dict.fromkeys(_names(folder / SINGLE), folder / SINGLE)
    index = folder / INDEX
    where = escaped(str(index))
    if not index.is_file():
        found = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
        but = (
            f"; {quoted(found[0])} is a pickle, which is never loaded: save it as safetensors"
            if found
            else ""
        )
        raise InputError(f"{escaped(str(folder))}: no weights, expected {SINGLE} or {INDEX}{but}")
    try:
        given = json.loads(text_of(index))["weight_map"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        raise InputError(f"{where}: it cannot be read, expected JSON with a weight_map") from None
    if not isinstance(given, Mapping) or not all(isinstance(file, str) for file in given.values()):
        raise InputError(f"{where}: weight_map: expected a file name for each tensor")
    for file in sorted(set(given.values())):
        if not file.endswith(".safetensors") or set(file) & set("/\\:\0"):
            raise InputError(f"{where}: got {quoted(file)}, expected a .safetensors file of the same folder")
        if not os.path.isfile(folder / file):  # where a name that no system takes is no error
            raise InputError(f"{where}: {quoted(file)} is missing")
    held = {file: set(_names(folder / file)) for file in set(given.values())}
    astray = sorted(name for name, file in given.items() if name not in held[file])
    unlisted = sorted(name for names in held.values() for name in names if name not in given)
    problems = _list(where, "is not in the file that the index names", astray)
    problems += _list(where, "is in a file but not in the index", unlisted)
    if problems:
        raise InputError(problems)
    return {name: folder / file for name, file in given.items()}


def parts(config: ModelConfig) -> dict[str, list[tuple[str, Shape]]]:
    """Return, for each parameter of the model, the tensors it is stacked of: name in the file and shape."""
    hidden, wide = config.hidden, config.intermediate
    q, kv = config.heads * config.head_dim, config.kv_heads * config.head_dim
    due: dict[str, list[tuple[str, Shape]]] = {
        "embed.weight": [("model.embed_tokens.weight", (config.vocab, hidden))]
    }
    for i in range(config.layers):
        ours, theirs = f"blocks.{i}.", f"model.layers.{i}."
        due[ours + "attention_norm.weight"] = [(theirs + "input_layernorm.weight", (hidden,))]
        projections = (("q", q), ("k", kv), ("v", kv))
        due[ours + "attention.qkv.weight"] = [
            (f"{theirs}self_attn.{name}_proj.weight", (rows, hidden)) for name, rows in projections
        ]
        due[ours + "attention.out.weight"] = [(theirs + "self_attn.o_proj.weight", (hidden, q))]
        if config.attention_bias:
            due[ours + "attention.qkv.bias"] = [
                (f"{theirs}self_attn.{name}_proj.bias", (rows,)) for name, rows in projections
            ]
            due[ours + "attention.out.bias"] = [(theirs + "self_attn.o_proj.bias", (hidden,))]
        if config.qk_norm:
            for name in ("q_norm", "k_norm"):
                due[f"{ours}attention.{name}.weight"] = [
                    (f"{theirs}self_attn.{name}.weight", (config.head_dim,))
                ]
        due[ours + "mlp_norm.weight"] = [(theirs + "post_attention_layernorm.weight", (hidden,))]
        due[ours + "mlp.gate_up.weight"] = [
            (f"{theirs}mlp.{name}_proj.weight", (wide, hidden)) for name in ("gate", "up")
        ]
        due[ours + "mlp.down.weight"] = [(theirs + "mlp.down_proj.weight", (hidden, wide))]
    due["norm.weight"] = [("model.norm.weight", (hidden,))]
    head = "model.embed_tokens.weight" if config.tied_embeddings else "lm_head.weight"
    due["head.weight"] = [(head, (config.vocab, hidden))]
    return due


def read_weights(
    files: Mapping[str, Path], config: ModelConfig, device: torch.device, dtype: torch.dtype
) -> dict[str, Tensor]:
    """Read the model's parameters, after every name, shape and number type has been checked."""
    due = parts(config)
    shapes = {name: shape for pieces in due.values() for name, shape in pieces}
    folder = escaped(str(next(iter(files.values())).parent)) if files else "the checkpoint"
    spare = {name for name in files if name.endswith("rotary_emb.inv_freq")}  # follows from the config
    if config.tied_embeddings:
        spare.add("lm_head.weight")  # a copy of the embedding, which is used in its place
    problems = _list(folder, "is missing", sorted(set(shapes) - set(files)))
    problems += _list(
        folder, "is a tensor that this config has no place for", sorted(set(files) - set(shapes) - spare)
    )
    if problems:
        raise InputError(problems)
    with ExitStack() as stack:
        opened = {path: stack.enter_context(_opened(path)) for path in set(files.values())}
        for name, shape in shapes.items():
            found = opened[files[name]].get_slice(name)
            if tuple(found.get_shape()) != shape:
                problems.append(
                    f"{folder}: {name}: got the shape {found.get_shape()}, expected {list(shape)}"
                )
            elif found.get_dtype() not in STORED:
                problems.append(
                    f"{folder}: {name}: got {found.get_dtype()}, expected one of {sorted(STORED)}"
                )
        if problems:
            more = (
                [f"{folder}: and {len(problems) - NAMED} more such tensors"] if len(problems) > NAMED else []
            )
            raise InputError(problems[:NAMED] + more)

        def tensor(name: str) -> Tensor:
            stored: Tensor = opened[files[name]].get_tensor(name)
            value = stored.to(device=device, dtype=dtype)
            if not value.isfinite().all():
                ours = str(dtype).removeprefix("torch.")
                damaged = not stored.isfinite().all()
                why = "not finite, the file is damaged" if damaged else f"too large for {ours}"
                raise InputError(f"{folder}: {name}: it holds numbers that are {why}")
            return value

        return {ours: torch.cat([tensor(name) for name, _ in pieces]) for ours, pieces in due.items()}


def _names(file: Path) -> list[str]:
    with _opened(file) as opened:
        return list(opened.keys())


def _opened(file: Path) -> Any:
    try:
        return safe_open(file, framework="pt")
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"{escaped(str(file))}: it is no whole safetensors file ({escaped(str(error))}); copy it again"
        ) from None


def _list(where: str, what: str, names: list[str]) -> list[str]:
    lines = [f"{where}: {quoted(name)} {what}" for name in names[:NAMED]]
    if len(names) > NAMED:
        lines.append(f"{where}: and {len(names) - NAMED} more tensors like this")
    return lines
