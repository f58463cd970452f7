"""The table of Siamese Capsule Networks on AT&T's faces.

Above train and pipelines: imported by `vtr tables` alone.
"""
