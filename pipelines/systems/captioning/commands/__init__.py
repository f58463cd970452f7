"""`vtr evaluate --task captioning`.

Above train and pipelines: imported by these alone.
"""
