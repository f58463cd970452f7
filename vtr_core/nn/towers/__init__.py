"""Networks that both images of a pair go through.

Imports config.
"""
