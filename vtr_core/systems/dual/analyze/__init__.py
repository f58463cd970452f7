"""What decides a dual encoder's rankings, and what its spaces add to each other.

Above train and pipelines: imported by `vtr analyze` alone.
"""
