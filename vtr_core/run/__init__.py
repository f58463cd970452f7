"""A run's complete configuration, its presets by name, its model and its task.

Asks the systems of `systems/all.py`, so that the rest of the code need not.
"""
