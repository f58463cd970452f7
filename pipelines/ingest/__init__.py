"""`vtr ingest`.

May import all of vtr_core.
"""
