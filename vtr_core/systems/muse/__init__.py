"""MUSE, multi-scale Mamba for text-video retrieval (Tang et al. 2025).

Imported by run; its tables by pipelines.
"""
