"""`vtr explain --capsules`.

Above train and pipelines: imported by these alone.
"""
