"""Figures of steps found in time: recall, overlap, accuracy by frame.

Imports relevance alone.
"""
