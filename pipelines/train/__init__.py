"""`vtr train`.

May import all of vtr_core; other stages start a training through it.
"""
