"""Data from raw files to batch tensors, in packages that build on each other.

Imports config, storage and text; independent of models and training.
"""
