"""Losses on similarity matrices, and the objectives that hold their parameters.

Imports nn, config and data's batches; knows no system.
"""
