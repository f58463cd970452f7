"""Commands of the dual encoder alone.

May import everything.
"""
