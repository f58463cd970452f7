"""The tables of the capsule paper.

Above train and pipelines: imported by `vtr tables` alone.
"""
