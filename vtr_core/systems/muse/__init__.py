"""MUSE, multi-scale Mamba for text-video retrieval (Tang et al. 2025).

Imported through `system.py`.
"""
