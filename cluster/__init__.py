"""Clusters: how to make one, small or large."""
