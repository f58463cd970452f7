"""Trained projections on the frozen vectors of a pretrained encoder, which start at its zero-shot similarity.

Imports vtr_core/encoders, nn, and the parts that systems of one joint space share.
"""
