"""Figures: pure functions from results to a `Picture`. No pyplot, no widgets, no engine."""
