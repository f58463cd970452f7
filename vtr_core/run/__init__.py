"""A run's whole configuration, its presets by name, its model and its task.

Asks the systems of `systems/all.py`, and is what the rest asks in their place.
"""
