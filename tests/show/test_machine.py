import importlib.metadata
import importlib.util
import sys

import pytest

from labkit.show import machine


def values():
    return [row[1] for row in machine.hardware().rows]


def test_it_says_what_it_found():
    names = [row[0] for row in machine.hardware().rows]
    assert names == ["处理器", "可用核", "内存", "系统", "Python", "PyTorch", "显卡"]
    assert all(values())
    assert int(values()[1]) >= 1
    assert values()[4] == sys.version.split()[0].rstrip("+")


def test_it_never_imports_torch():
    before = set(sys.modules)
    machine.hardware()
    assert "torch" not in set(sys.modules) - before


@pytest.mark.parametrize("error", [ModuleNotFoundError("no torch"), ValueError("torch.__spec__ is None")])
def test_torch_missing_or_blocked(monkeypatch, error):
    def refuse(name):
        raise error

    monkeypatch.setattr(importlib.util, "find_spec", refuse)
    assert machine.torch_build() is None
    assert values()[5].startswith("没有装")


@pytest.mark.parametrize(
    ("line", "cuda"), [("cuda: str | None = None", ""), ("cuda: Optional[str] = '12.8'", "12.8")]
)
def test_what_torch_was_built_for(monkeypatch, tmp_path, line, cuda):
    (tmp_path / "version.py").write_text(f"__version__ = '9.9'\n{line}\n", encoding="utf-8", newline="\n")
    spec = importlib.util.spec_from_file_location("torch", tmp_path / "__init__.py")
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.9")
    assert machine.torch_build() == ("9.9", cuda)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (None, "NVIDIA H200, 143771 MiB，但装着的 PyTorch 用不了它"),
        (("2.13", ""), "NVIDIA H200, 143771 MiB，但装着的 PyTorch 用不了它"),
        (("2.13", "12.8"), "NVIDIA H200, 143771 MiB"),
    ],
)
def test_a_gpu_counts_only_with_a_torch_that_can_use_it(monkeypatch, build, words):
    monkeypatch.setattr(machine, "gpu", lambda: "NVIDIA H200, 143771 MiB")
    monkeypatch.setattr(machine, "torch_build", lambda: build)
    assert values()[6] == words


def test_what_cannot_be_asked_is_unknown(monkeypatch):
    monkeypatch.setattr(machine, "processor", lambda: "")
    monkeypatch.setattr(machine, "_memory_bytes", lambda: 0)
    assert values()[0] == values()[2] == "问不到"
