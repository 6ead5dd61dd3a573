"""Rearranged weights: the same products, and each row's result untouched by the others."""

import pytest
import torch
from torch import nn

from labkit.executors.model.load import load
from labkit.executors.model.prepack import PrepackedLinear, can_prepack, prepack

CPU = torch.device("cpu")
TYPES = [dtype for dtype in (torch.float32, torch.bfloat16) if can_prepack(CPU, dtype)]


@pytest.mark.skipif(not TYPES, reason="oneDNN is for x86 processors")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bias", [True, False])
def test_the_product_is_that_of_the_plain_layer(dtype, bias):
    torch.manual_seed(0)
    plain = nn.Linear(96, 130, bias=bias, dtype=dtype).requires_grad_(False)
    packed = PrepackedLinear(plain)
    x = torch.randn(40, 96).to(dtype)
    want = x.double() @ plain.weight.double().T + (plain.bias.double() if bias else 0)
    # each rounding is 2^-24 or 2^-9 of the largest term; float32 adds up 96 of them
    bound = want.abs().max() * (96 * 2**-24 if dtype == torch.float32 else 2**-8)
    assert (packed(x).double() - want).abs().max() <= bound
    for rows in (1, 2, 7, 33):
        assert torch.equal(packed(x[:rows]), packed(x)[:rows])
    assert packed(x[:0]).shape == (0, 130)


@pytest.mark.skipif(not TYPES, reason="oneDNN is for x86 processors")
def test_every_matrix_of_a_float32_model_is_rearranged_and_none_of_a_float64_one():
    kinds = [type(module) for module in load("tiny").model.modules()]
    assert kinds.count(PrepackedLinear) == 2 * 4 + 1
    assert nn.Linear not in kinds
    kinds = [type(module) for module in load("tiny", dtype=torch.float64).model.modules()]
    assert kinds.count(nn.Linear) == 2 * 4 + 1


def test_a_module_without_matrices_stays_as_it_is():
    module = nn.Sequential(nn.Identity(), nn.RMSNorm(4))
    prepack(module)
    assert [type(child) for child in module] == [nn.Identity, nn.RMSNorm]


def test_other_devices_and_types_keep_the_plain_layer(monkeypatch):
    assert not can_prepack(CPU, torch.float64)
    assert not can_prepack(torch.device("cuda"), torch.float32)
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert not can_prepack(CPU, torch.float32)
