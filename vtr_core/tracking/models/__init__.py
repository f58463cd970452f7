"""Checkpoints as registered models.

Imports tracking's run; mlflow is imported here and beside it alone.
"""
