"""Capsules: poses and activations, primary capsules, projection to the joint space, routing by agreement.

Imports config.
"""
