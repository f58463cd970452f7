"""`vtr tagger`.

May import all of vtr_core.
"""
