"""The tables of the captioning paper.

Above train and pipelines: imported by `vtr tables` alone.
"""
