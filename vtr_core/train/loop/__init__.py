"""The loop of a worker: steps, validation, points, checkpoints.

Imports run, data, checkpoint and distributed.
"""
