"""`vtr evaluate`.

May import all of vtr_core.
"""
