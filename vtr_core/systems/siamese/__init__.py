"""Siamese networks of faces, capsules among them.

Imported through `system.py`.
"""
