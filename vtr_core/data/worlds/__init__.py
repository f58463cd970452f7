"""Synthetic data with known ground truth: words, grammar, clips, videos, steps, tokens.

Imports config and text; used by sources and tests.
"""
