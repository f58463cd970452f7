"""Metrics of rankings, step localisation, generated captions and pair verification.

Imports text and errors; works on arrays.
"""
