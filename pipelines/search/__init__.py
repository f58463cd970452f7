"""`vtr search`.

May import all of vtr_core.
"""
