"""Captions as words: tokens, tags, concepts, vectors, statistics.

Imports config, storage and errors.
"""
