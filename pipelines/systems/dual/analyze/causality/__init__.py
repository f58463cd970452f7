"""Causality of a dual encoder's rankings: the concepts that decide, and score transforms that concentrate on few.

Imported by `vtr analyze` alone.
"""
