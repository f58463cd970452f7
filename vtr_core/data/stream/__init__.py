"""Delivery of planned batches to workers by Ray Data.

The only package of data that imports ray; imported only by train.
"""
