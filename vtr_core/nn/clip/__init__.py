"""CLIP as a module to train: its vision transformer, its text transformer, and the space of both.

Parameters have the names of the published weights.
"""
