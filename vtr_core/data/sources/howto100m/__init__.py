"""HowTo100M, and the narration and segments that YouCook2 has in the same form.

Imported by pipelines and youcook2.
"""
