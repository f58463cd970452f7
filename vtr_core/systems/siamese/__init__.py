"""Siamese networks of faces, capsules among them.

Imported through `system.py`; its commands and tables by pipelines.
"""
