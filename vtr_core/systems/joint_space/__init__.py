"""Shared parts of systems with one joint space: training, validation, embedding and serving.

Imported by the systems' `implementation.py`.
"""
