"""Siamese networks of faces, with capsule and convolutional towers.

Imported through `system.py`.
"""
