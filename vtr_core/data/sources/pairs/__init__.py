"""Pairs of clips and captions in tables of one's own.

Imported by pipelines alone.
"""
