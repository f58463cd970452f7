"""Word vectors from the files in which they are published.

Imports storage.
"""
