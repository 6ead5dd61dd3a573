"""Weights in oneDNN's own block order, arranged once: what a small batch would else pay for in every product.

A decode round multiplies a few dozen rows by every matrix, and arranging the matrix for the vector units then costs
as much as the product. Measured on one AVX-512 core, 512 to 2752 features, float32: 8 rows 27 to 53 GFLOP/s, 33 rows
58 to 92, 544 rows 95 to 107; bfloat16: 52 to 100, 124 to 180, 189 to 210. A row's result is also the same to the last
bit whatever the number of rows, which the plain product does not promise.
"""

from __future__ import annotations

import platform

import torch
from torch import Tensor, nn

ROWS = 512  # the batch that the order is chosen for; it serves every other one as well


class PrepackedLinear(nn.Module):
    """`nn.Linear` with its matrix rearranged. The matrix is no parameter any more: it can only be multiplied by."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        # The operators that `torch.compile` uses for frozen weights.
        self.packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), ROWS)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """`x` [rows, inputs] to [rows, outputs]."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")
        return result


def can_prepack(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether oneDNN is there for this device and type: x86 processors, float32, and bfloat16 where they have it."""
    if device.type != "cpu" or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return dtype == torch.float32


def prepack(module: nn.Module) -> None:
    """Replace every `nn.Linear` in `module`. A head tied to the embedding becomes a matrix of its own."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, PrepackedLinear(child))
        else:
            prepack(child)
