"""Trackers beside MLflow, TensorBoard and Weights & Biases: the driver sends them the points of metrics.jsonl.

MLflow is the record of a run: its checkpoint, its models and its inputs. These show the same curves where a team
already looks at them.
"""
