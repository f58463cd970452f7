"""The tensors of a batch: clips, whole videos, images, clips with their pictures.

Imports records alone; models and losses take them.
"""
