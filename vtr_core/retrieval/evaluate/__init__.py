"""Figures of embedded data sets: retrieval in both directions, whole videos, steps in time.

Imports embed.
"""
