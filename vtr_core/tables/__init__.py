"""A paper's table as data and as Markdown, its figures and ours in one cell.

Imports nothing; the papers' tables lie with their systems.
"""
