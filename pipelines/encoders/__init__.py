"""`vtr encoders`.

The pretrained encoders there are.
"""
