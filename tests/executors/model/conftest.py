"""Shared by the tests of the real model: needed packages, one thread, and a way to run requests round by round."""

import importlib.util
import os

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("safetensors") is None:
    collect_ignore_glob = ["test_*.py"]  # an installation without the real model (`--no-model`)


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def transformers():
    """Give the reference implementation; a machine without it skips, continuous integration does not."""
    if importlib.util.find_spec("transformers") is None:
        assert "CI" not in os.environ, "transformers belongs to the test extra"
        pytest.skip("transformers is not installed")
    import transformers

    transformers.utils.logging.disable_progress_bar()
    return transformers
