"""Embeddings of data sets and of user tables by a model.

Imports run and systems; evaluation, search and explanation build on it.
"""
