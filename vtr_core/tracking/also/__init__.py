"""Trackers beside MLflow, TensorBoard and Weights & Biases: the driver sends them the points of metrics.jsonl.

MLflow is the record of a run: its checkpoint, its models and its inputs. The other trackers show the same curves, for
teams that use them already.
"""
