"""Features and pictures of video files: videos decoded and seen, in this process or as a Ray Data job, into shards.

Imports backbones, video and data; only `on_ray` imports ray.
"""
