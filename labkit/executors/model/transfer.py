"""Small tensors made on the host, sent to the device without waiting for what it is doing."""

from __future__ import annotations

import torch
from torch import Tensor


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """Return `tensor` on `device`. From pinned memory a copy to a GPU is queued behind its work; the host goes on."""
    if device.type == "cpu":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)
