"""Configurations of blocks that systems are built of.

Imported by nn, and by the configurations of systems.
"""
