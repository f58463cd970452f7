"""Blocks that models are built of.

Imports config and data's batches; knows no system.
"""
