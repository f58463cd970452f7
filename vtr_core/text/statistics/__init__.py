"""How far captions agree with others, and how much each tells.

Imports tokens.
"""
