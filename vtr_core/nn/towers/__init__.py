"""Siamese towers: the networks that encode both images of a pair with the same weights.

Imports config.
"""
