"""Why videos were found: tags, contributions, the page and its server.

Imports search.
"""
