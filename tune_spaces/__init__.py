"""Hyperparameter search: search spaces, schedulers, points, figures.

Collects the spaces from the systems' folders; imported only by `vtr sweep` and analyses.
"""
