"""Why videos were found: tags, contributions, the page.

Imports search.
"""
