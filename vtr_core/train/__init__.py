"""Training: one loop for all systems.

Imports run, data, tracking; pipelines start it.
"""
