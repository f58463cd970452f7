"""Commands of CLIP4Clip alone.

May import everything.
"""
