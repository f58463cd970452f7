"""Contrastive losses of a batch in one joint space, of which every worker computes a share.

Imports nn and config; systems choose one by its configuration.
"""
