"""Planned batches delivered to workers by Ray Data.

The one place of data that imports ray; only train imports it.
"""
