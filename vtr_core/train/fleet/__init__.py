"""Placement, reservation, monitoring and restart of workers on a cluster's nodes; the lease on a run.

Imports run and storage.
"""
