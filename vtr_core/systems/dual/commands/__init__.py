"""`vtr evaluate` of a dual encoder.

Above train and pipelines: imported by these alone.
"""
