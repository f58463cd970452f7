"""`vtr completion`.

May import all of vtr_core.
"""
