"""Videos ranked for a query; files of topics and runs.

Imports index.
"""
