"""Records of runs: MLflow, and a local JSON-lines file that does not need it.

The one place that imports mlflow; train and pipelines write through it.
"""
