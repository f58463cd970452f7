"""Latent and concept space apart, together, and fused over trainings.

Imported by `vtr analyze` alone.
"""
