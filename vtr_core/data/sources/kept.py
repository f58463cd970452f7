"""Rows that stay in a test set though their features cannot be had, so that its number of queries is fixed.

Training data drops such rows. A test set must not: the figures of two models would be means over different queries.
"""

KEPT = "kept_without_features"
"""Counts of what was dropped have such rows under this key; unlike all others they are in the data set."""
