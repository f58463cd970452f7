"""What a notebook uses, as attributes of `vtr_core`: load, Model, Index, and what they return.

Imports everything of vtr_core that has to do with trained models, and no Ray.
"""
