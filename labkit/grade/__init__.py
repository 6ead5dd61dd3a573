"""Exercises and their grader: declarations, public checks, verdicts reached outside a student's process."""
