"""The tables of the thesis.

Above train and pipelines: imported by `vtr tables` and by benchmarks alone.
"""
