"""CLIP as a trainable module: its vision transformer, its text transformer, and their joint space.

Parameters have the names of the published weights.
"""
