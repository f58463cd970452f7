"""Trained models given to others: a folder in the hub's layout, with its model card.

Imports train.checkpoint and retrieval.
"""
