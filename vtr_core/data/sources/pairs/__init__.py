"""Pairs of clips and captions in user tables.

Imported by pipelines alone.
"""
