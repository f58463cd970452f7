"""Collectives between workers: gathered batches, shares of gradients, distributed ranking.

Imports torch and batches alone.
"""
