"""Which rows a batch holds, as a function of manifest, seed, epoch and step; splits.

Imports shards; knows nothing of Ray.
"""
