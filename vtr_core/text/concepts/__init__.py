"""Concepts named in captions: their extraction, frequencies and ambiguity.

Imports tagging.
"""
