"""Scenario files: their schema, loading with every problem said, running, and the library of known cases."""

from labkit.core.errors import InputError
from labkit.scenario.load import Scenario, load, names
from labkit.scenario.run import Run, run

__all__ = ["InputError", "Run", "Scenario", "load", "names", "run"]
