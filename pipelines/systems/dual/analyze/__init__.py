"""Analyses of a dual encoder: causal concepts of its rankings, and complementarity of its spaces.

Above train and pipelines: imported by `vtr analyze` alone.
"""
