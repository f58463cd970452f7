"""Evaluation and index of as many clips as a machine holds."""
