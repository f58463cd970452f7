"""`vtr evaluate --task verification`.

Above train and pipelines: imported by these alone.
"""
