"""Small matrices gain nothing from a second thread, and other tests run beside these."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Torch computes on one thread."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
