"""Analyses of trained models: pure functions of their embeddings, activations and scores.

Imports metrics, similarity and errors.
"""
