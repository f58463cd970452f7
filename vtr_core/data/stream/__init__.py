"""Delivery of planned batches to workers by Ray Data."""
