"""How primary capsules become secondary ones, one file for each way.

Imports config.
"""
