"""Figures of rankings, steps, sentences and pairs.

Imports text and errors; works on arrays.
"""
