"""What a trained model holds: pure functions over what was read out of it.

Imports metrics, similarity and errors.
"""
