"""Dual encoding in a latent space, a concept space, or both (Dong et al. 2021).

Imported through `system.py`.
"""
