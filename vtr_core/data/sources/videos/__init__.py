"""Video files with captions: folders, lists or tables of files, captions from tables or subtitles.

Decoding is part of extraction.
"""
