"""Row groups as arrays: clips, whole videos, steps, images; statistics of features."""
