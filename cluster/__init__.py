"""Clusters: how to make one, small or large.

Imports errors and redaction of vtr_core; `vtr submit` and people's shells use it.
"""
