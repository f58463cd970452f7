"""Complementarity of latent and concept space: each alone, together, and fused across trainings.

Imported by `vtr analyze` alone.
"""
