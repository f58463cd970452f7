"""`vtr embed`.

May import all of vtr_core.
"""
