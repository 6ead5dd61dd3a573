"""How fast the engine is, beside what bounds it: `python3 -m labkit bench`."""
