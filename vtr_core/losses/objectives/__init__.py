"""Contrastive losses of a batch in one joint space, in shares of workers.

Imports nn and config; systems choose one by its configuration.
"""
