"""For every test: tests whose tool is missing are reported by name, and random tests have no stopwatch."""

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

from labkit.testing import find_chromium, in_ci

# A shared two-core machine stalls now and then: slowness is no failure here, the benchmarks measure it.
# CI draws the same examples each time; runs by hand draw new ones.
settings.register_profile(
    "full", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True, derandomize=in_ci()
)
settings.register_profile("few", settings.get_profile("full"), max_examples=10, stateful_step_count=10)
settings.load_profile(os.environ.get("LABKIT_EXAMPLES", "full"))

TOOLS = {"browser": ("Chromium", find_chromium), "sandbox": ("bubblewrap", lambda: shutil.which("bwrap"))}


def pytest_collection_modifyitems(items):
    """Skip, each under its own name, what needs a tool that is not there; in CI that is a failure instead."""
    for mark, (tool, find) in TOOLS.items():
        needing = [item for item in items if item.get_closest_marker(mark)]
        if needing and find() is None:
            for item in needing:
                item.add_marker(pytest.mark.skip(f"needs {tool}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Turn a skip for want of a tool into a failure in CI, where the tool has to be there."""
    report = yield
    if report.skipped and in_ci() and any(item.get_closest_marker(mark) for mark in TOOLS):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: {report.longrepr[2]}, and CI counts that as a failure"
    return report


@pytest.fixture(scope="session")
def chromium():
    """Return the path of the Chromium that browser tests start."""
    return find_chromium()
