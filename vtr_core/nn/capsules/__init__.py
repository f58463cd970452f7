"""Capsules: poses and activations, primary ones, projections, agreement.

Imports config.
"""
