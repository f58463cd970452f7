"""Synthetic data whose truth is known: words, grammar, clips, videos, steps, tokens.

Imports config and text; sources and tests read from it.
"""
