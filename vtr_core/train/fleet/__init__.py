"""Workers and nodes: placed, reserved, watched, lost, brought back; the lease on a run.

Imports run and storage.
"""
