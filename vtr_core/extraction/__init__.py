"""Extraction of features and pictures from video files into shards, in this process or as a Ray Data job.

Imports backbones, video and data; only `on_ray` imports ray.
"""
