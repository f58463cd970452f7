"""A run's whole configuration, its presets by name, its model and its task.

Imports all systems, and is what the rest imports in their place.
"""
