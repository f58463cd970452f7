"""The tensors of a batch: clips, whole videos, images.

Imports records alone; models and losses take them.
"""
