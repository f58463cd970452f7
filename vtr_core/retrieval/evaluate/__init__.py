"""Metrics of embedded data sets: retrieval in both directions, whole-video retrieval, step localisation.

Imports embed.
"""
