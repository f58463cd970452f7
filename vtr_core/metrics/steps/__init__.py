"""Metrics of step localisation: recall, overlap, accuracy by frame.

Imports relevance alone.
"""
