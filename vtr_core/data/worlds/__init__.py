"""Synthetic data with known ground truth: words, grammar, clips, videos, steps, tokens."""
