"""The training loop of a worker: steps, validation, logging, checkpoints.

Imports run, data, checkpoint and distributed.
"""
