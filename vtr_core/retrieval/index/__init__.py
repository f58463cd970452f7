"""The vectors of a data set, stored for search.

Imports embed.
"""
