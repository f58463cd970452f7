"""Files that annotations come in: text, tables, subtitles.

Imports storage; adapters read through it.
"""
