"""Batch plans, functions of manifest, seed, epoch and step; splits.

Imports shards; independent of Ray.
"""
