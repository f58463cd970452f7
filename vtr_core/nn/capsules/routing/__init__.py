"""Routing of primary to secondary capsules, one file per algorithm.

Imports config.
"""
