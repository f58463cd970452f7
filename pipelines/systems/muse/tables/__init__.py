"""The ablations of MUSE's paper.

Above train and pipelines: imported by `vtr tables` alone.
"""
