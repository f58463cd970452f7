"""Batches as tensors: of clips, whole videos, images, and clips with frames.

Imports records only; used by models and losses.
"""
