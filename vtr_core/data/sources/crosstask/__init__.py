"""CrossTask.

Imported by pipelines alone.
"""
