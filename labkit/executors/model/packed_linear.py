"""Matrix products on a CPU with weights laid out once for the kernels that read them.

`nn.Linear` hands its weight over row by row, and every call sorts it into the blocks that the registers want. For the
few rows of a decode round that costs as much as the product. oneDNN, which torch carries, can keep the blocks.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

DTYPES = (torch.float32, torch.bfloat16)
ROWS = 512  # the number of rows for which oneDNN chooses the blocks; other numbers run on the same ones


class PackedLinear(nn.Module):
    """x · Wᵀ + b like the `nn.Linear` that it is made from, whose weight it keeps in oneDNN's blocks alone."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.bias = linear.bias
        # No parameter: a tensor in blocks can be neither moved nor saved.
        self._blocks = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), ROWS)

    def forward(self, x: Tensor) -> Tensor:
        """`x` [rows, inputs] to [rows, outputs]."""
        return torch.ops.mkldnn._linear_pointwise(x, self._blocks, self.bias, "none", [], "")


def pack_linears(model: nn.Module) -> None:
    """Replace every `nn.Linear` of `model` where that is possible: on a CPU, in float32 or bfloat16, with oneDNN.

    The operators are those that torch.compile puts into frozen models; where this torch has none, nothing happens.
    """
    weight = next(model.parameters())
    usable = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    if weight.device.type != "cpu" or weight.dtype not in DTYPES or not usable:
        return
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.Linear):
                setattr(parent, name, PackedLinear(child))
