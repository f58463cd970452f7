"""Experiment tracking: MLflow, and local JSON-lines files that do not need it.

The one place that imports mlflow; train and pipelines write through it.
"""
