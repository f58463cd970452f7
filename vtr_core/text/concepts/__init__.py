"""Concepts that captions name: which, how often, how surely.

Imports tagging.
"""
