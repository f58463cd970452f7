"""Video files and what is said of them: a folder, a list or a table of them, captions in a table or in subtitles.

Nothing here decodes: extraction does.
"""
