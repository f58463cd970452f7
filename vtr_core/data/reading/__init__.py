"""Row groups of a plan as arrays: clips, whole videos, steps, images; statistics over them.

Imports shards and plan; knows nothing of Ray.
"""
