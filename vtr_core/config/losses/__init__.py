"""Configurations of losses that systems share.

Imported by losses, and by the configurations of systems.
"""
