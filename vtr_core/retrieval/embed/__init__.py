"""Data sets and tables of one's own in a model's space.

Imports run and systems; evaluation, search and explanation build on it.
"""
