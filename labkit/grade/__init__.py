"""Exercises and their grader: declarations, public checks, and verdicts that are reached outside a student's process."""
